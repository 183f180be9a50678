# irexec as a container: docker build -t irexec . && docker run --rm -v "$PWD:/work" irexec validate model.xml
FROM python:3.12-slim AS build
COPY . /source
RUN python -m pip wheel --no-cache-dir --wheel-dir /wheels "/source[onnx]"

FROM python:3.12-slim
RUN --mount=from=build,source=/wheels,target=/wheels \
    python -m pip install --no-cache-dir --no-index --find-links /wheels "irexec[onnx]" && useradd --create-home irexec
USER irexec
WORKDIR /work
ENTRYPOINT ["irexec"]
CMD ["--help"]
