# The operator and, for the demo, the simulated provider: one file each, on a base without shell and package manager.
# The base images are named by tag; a release names them by digest (docs/release.md).
ARG BUILD_IMAGE=node:24.21.0-slim
ARG BASE_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

# What is built is the same for every architecture, so it is built once, on that of the machine.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# No script of a dependency runs: the Node of this image is the one that the source is written for.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src src
COPY tools tools
RUN npm run build

FROM ${BASE_IMAGE}
ARG BASE_IMAGE
ARG VERSION=development
ARG REVISION=unknown
LABEL org.opencontainers.image.title="vps-operator" \
      org.opencontainers.image.description="Kubernetes operator for paid virtual servers" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
# By itself V8 takes half of the container's memory limit for its heap, but never less than 259 MB (measured), even where
# the container may not use as much: it is then killed instead of collecting garbage. A smaller young generation, which
# saves memory outside of containers, saved none here (docs/performance.md).
ENV NODE_ENV=production \
    NODE_OPTIONS="--max-old-space-size-percentage=70"
WORKDIR /app
COPY LICENSE ./
COPY --from=build /src/dist/package.json /src/dist/operator.js /src/dist/simulator.js ./
USER 65532:65532
ENTRYPOINT ["/nodejs/bin/node", "/app/operator.js"]
