-- irexec for Neovim: findings, fixes, hover and navigation in OpenVINO IR files.
vim.filetype.add({ extension = { irt = 'irt' } })
vim.lsp.config('irexec', {
  cmd = { 'irexec', 'lsp' },
  filetypes = { 'xml', 'irt' },
  -- The server starts only for IR files, which begin with <net> or <layer>.
  root_dir = function(buffer, start)
    local head = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, 20, false), '\n')
    local is_text = vim.bo[buffer].filetype == 'irt'
    if is_text or head:find('<net', 1, true) or head:find('<layer', 1, true) then
      start(vim.fs.dirname(vim.api.nvim_buf_get_name(buffer)))
    end
  end,
})
vim.lsp.enable('irexec')
