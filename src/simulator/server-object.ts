/** The server resource: what a new server is like. */
import type { SimulatedProduct } from './settings.ts';

/** Values of `status`, as public sources show them. */
export const RUNNING = 'running';
export const POWERING_ON = 'paused';
export const SHUTTING_DOWN = 'shutting down';
/** Also of a dormant server. */
export const SHUT_DOWN = 'shut down';

/** The server resource with every documented field, and those that only the public API has, where they are set. */
export interface ServerObject {
  identifier: string;
  name: string | null;
  status: string;
  product: string;
  price: number;
  zone: { name: string; code: string };
  host_server: string;
  specs: {
    cores: number;
    disk_size: number;
    ram: number;
    disk_type: string;
    extra_cores?: number;
    extra_ram?: number;
  };
  boot_device: string;
  net_device: string;
  disk_bus: string;
  cpu_mode: string;
  iso_image: string | null;
  ipv4: unknown[];
  ipv6: string[];
  macs: string[];
  vnc: { mode: string; password: string; display: number; port: number; ipv4: string; ipv6: string };
  admin_console: { hostname: string; username: string };
  ssh_proxy: { hostname: string; port: number };
  family?: string;
  period?: string;
  dormant?: boolean;
  tablet?: boolean;
  /** A resize that waits for the next start. */
  upgrade_specs?: { disk_type: string; disk_size: number; cores: number; ram: number } | null;
}

/** An IPv6-only server; its addresses and ports derive from `serial` (from 1). */
export function newServerObject(
  identifier: string,
  serial: number,
  product: SimulatedProduct,
  diskSize: number,
): ServerObject {
  const host = encodeURIComponent(identifier);
  return {
    identifier,
    name: null,
    status: RUNNING,
    product: product.code,
    price: product.price + diskSize * (product.diskPrice ?? 0),
    zone: { name: 'Simulated Zone One', code: 'SIM1' },
    host_server: `host${(serial % 7) + 1}`,
    specs: { cores: product.cores, disk_size: diskSize, ram: product.ram, disk_type: 'ssd' },
    boot_device: 'hd',
    net_device: 'virtio',
    disk_bus: 'virtio',
    cpu_mode: 'performance',
    iso_image: '',
    ipv4: [],
    ipv6: [ipv6Of(serial, 0)],
    macs: [macOf(serial)],
    vnc: {
      mode: 'disabled',
      password: `vnc-password-${serial}`,
      display: serial % 100,
      port: 5900 + (serial % 100),
      ipv4: '192.0.2.10',
      ipv6: '2001:db8:ffff::10',
    },
    admin_console: { hostname: `admin.${host}.vs.example.com`, username: identifier },
    ssh_proxy: { hostname: `ssh-proxy${(serial % 3) + 1}.example.com`, port: 20_000 + (serial % 40_000) },
  };
}

/** Each server has a separate network, so no two servers share an address; `renumbered` counts its changes. */
export function ipv6Of(serial: number, renumbered: number): string {
  return `2001:db8:${(serial >>> 16).toString(16)}:${(serial & 0xffff).toString(16)}::${(renumbered + 2).toString(16)}`;
}

/** In 10.0.0.0/8; unique up to 16 million servers. */
export function ipv4Of(serial: number): string {
  return `10.${(serial >>> 16) & 0xff}.${(serial >>> 8) & 0xff}.${serial & 0xff}`;
}

/** Unique up to 4 billion servers and 256 network cards, and constant for the life of a server. */
export function macOf(serial: number, card = 0): string {
  const hex = (serial >>> 0).toString(16).padStart(8, '0');
  const vendor = card === 0 ? '52:54' : `02:${card.toString(16).padStart(2, '0')}`;
  return `${vendor}:${hex.slice(0, 2)}:${hex.slice(2, 4)}:${hex.slice(4, 6)}:${hex.slice(6, 8)}`;
}
