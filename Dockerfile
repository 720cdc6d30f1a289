# SPDX-License-Identifier: MIT
# An image with msrec's commands. To read a trace in the present folder:
#
#   docker build -t msrec .
#   docker run --rm -v "$PWD:/data" msrec msreport app.zst
#
# To record a program of another image, base that on this one, or copy /usr/local from here and install the packages
# below; its glibc must be Debian 13's or a later one.
FROM debian:trixie-slim AS build
WORKDIR /msrec
COPY . .
RUN scripts/setup build \
	&& meson setup build --buildtype=release -Dtests=disabled -Dengine=disabled \
	&& ninja -C build \
	&& DESTDIR=/image meson install -C build --no-rebuild

FROM debian:trixie-slim
RUN apt-get update \
	&& apt-get install -y --no-install-recommends libdw1t64 libelf1t64 libzydis4.1 libncursesw6 libgd3 zlib1g libzstd1 \
	&& rm -rf /var/lib/apt/lists/*
COPY --from=build /image/ /
RUN ldconfig
WORKDIR /data
CMD ["msreport", "--help"]
