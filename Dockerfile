# The operator and, as a separate image for demo and tests, the simulated provider (--target simulator): one file each, on
# a base without a shell or package manager.
# Base images are referenced by tag here, and by digest in a release (docs/how-to/release.md).
ARG BUILD_IMAGE=node:24.21.0-slim
ARG BASE_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

# The build result is the same for every architecture, so it is built once, on the architecture of the build machine.
# `npm run image` leaves --platform out if there is no BuildKit, which alone sets BUILDPLATFORM.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /src
COPY package.json package-lock.json ./
# Scripts of dependencies are not needed: this image already has the Node version that the source requires.
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY src src
COPY tools tools
RUN npm run build

FROM ${BASE_IMAGE} AS base
ARG BASE_IMAGE
ARG VERSION=development
ARG REVISION=unknown
LABEL org.opencontainers.image.source="https://github.com/vps-operator/vps-operator" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.base.name="${BASE_IMAGE}"
# By default, V8 uses half of the container's memory limit for its heap, but at least 259 MB (measured). If the
# container may not use that much, it is killed before V8 collects garbage. A smaller young generation saves memory
# outside of containers, but not here (docs/reference/performance.md). With one arena for all threads, glibc keeps 12 MB
# less, at the same CPU. Blocks of 16 kB go back to the kernel at once: without the threshold, glibc keeps 8 MB of those in
# which V8 compiles.
ENV NODE_ENV=production \
    MALLOC_ARENA_MAX=1 \
    MALLOC_MMAP_THRESHOLD_=16384 \
    NODE_OPTIONS="--max-old-space-size-percentage=70"
WORKDIR /app
COPY LICENSE ./
COPY --from=build /src/dist/package.json ./
USER 65532:65532

FROM base AS simulator
LABEL org.opencontainers.image.title="vps-operator-simulator" \
      org.opencontainers.image.description="Simulated provider of virtual servers, for demo and tests"
COPY --from=build /src/dist/simulator.js ./
ENTRYPOINT ["/nodejs/bin/node", "/app/simulator.js"]

# The last stage is what a build without --target gives.
FROM base AS operator
LABEL org.opencontainers.image.title="vps-operator" \
      org.opencontainers.image.description="Kubernetes operator for paid virtual servers"
COPY --from=build /src/dist/operator.js ./
ENTRYPOINT ["/nodejs/bin/node", "/app/operator.js"]
