-- Drives Neovim: findings, a quick fix made as a user makes it, hover and completion. Prints what came of it as JSON.
local told = {}

local function wait(what, done)
  assert(vim.wait(60000, done, 50), what .. ' does not come')
end

wait('the client', function() return #vim.lsp.get_clients({ name = 'irexec', bufnr = 0 }) == 1 end)
wait('the list of findings', function() return #vim.diagnostic.get(0) > 1 end)
told.findings = vim.tbl_map(function(found) return found.code end, vim.diagnostic.get(0))

vim.fn.search('axes=', 'w')
vim.lsp.buf.code_action({ apply = true, filter = function(action) return action.title:find('rename axes') ~= nil end })
wait('the quick fix', function() return vim.fn.search('axis=', 'nw') > 0 end)
told.line = vim.trim(vim.fn.getline('.'))
wait('the second check', function() return #vim.diagnostic.get(0) == #told.findings - 1 end)

local client = vim.lsp.get_clients({ name = 'irexec', bufnr = 0 })[1]
local function ask(method)
  return client:request_sync(method, vim.lsp.util.make_position_params(0, client.offset_encoding), 60000, 0).result
end

vim.fn.search('SoftMax', 'w')
told.hover = ask('textDocument/hover').contents.value
told.completion = vim.tbl_map(function(item) return item.label end, ask('textDocument/completion').items)

io.stdout:write(vim.json.encode(told))
vim.cmd('qall!')
