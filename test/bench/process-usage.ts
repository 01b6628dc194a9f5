/** CPU, memory and connections of another process, from Linux's /proc. */
import { readdir, readFile, readlink } from 'node:fs/promises';

/** Linux reports CPU time in hundredths of a second on every machine. */
const TICK_MS = 10;
const SAMPLE_MS = 100;

/** User and system time so far, in ms. */
export async function cpuMs(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The second field is the process name in parentheses, which may contain blanks; utime and stime are fields 14 and
  // 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/** Peak resident memory so far, in MB. */
export async function peakMemoryMb(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

interface ConnectionCount {
  /** Number of distinct connections seen so far. */
  seen: () => number;
  stop: () => void;
}

/** Samples ten times a second, so it may miss shorter connections. */
export function countConnections(pid: number, port: number): ConnectionCount {
  const seen = new Set<string>();
  const look = async (): Promise<void> => {
    const own = await socketsOf(pid);
    for (const { local, remotePort, inode } of await tcpConnections()) {
      if (remotePort === port && own.has(inode)) seen.add(local);
    }
  };
  const timer = setInterval(() => void look().catch(() => undefined), SAMPLE_MS);
  return { seen: () => seen.size, stop: () => clearInterval(timer) };
}

/** Inodes of the sockets that the process holds. */
async function socketsOf(pid: number): Promise<Set<string>> {
  const folder = `/proc/${pid}/fd`;
  const links = await Promise.all((await readdir(folder)).map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
  return new Set(links.map((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? ''));
}

async function tcpConnections(): Promise<{ local: string; remotePort: number; inode: string }[]> {
  const lines = (await readFile('/proc/net/tcp', 'utf8')).trim().split('\n').slice(1);
  return lines.map((line) => {
    const [, local = '', remote = '', , , , , , , inode = ''] = line.trim().split(/\s+/);
    return { local, remotePort: Number.parseInt(remote.split(':')[1] ?? '', 16), inode };
  });
}
