/** What spec.sshCheck asks for, and how the result changes the conditions. */
import { describe, expect, it } from 'vitest';
import { ON_CHANGE, untilVisit } from '../../../../src/virtual-server/decision/next.ts';
import type { Held } from '../../../../src/api/record.ts';
import type { VirtualServer, VirtualServerSpec } from '../../../../src/api/virtual-server.ts';
import { sshTarget, type ProbeResult } from '../../../../src/virtual-server/decision/reach.ts';
import { waited } from '../../../../src/virtual-server/decision/outcome.ts';
import type { Outcome } from '../../../../src/virtual-server/decision/types.ts';
import { viewOf } from '../../../../src/virtual-server/decision/view.ts';
import { without } from '../../../../src/base/without.ts';
import type { Server } from '../../../../src/provider/types.ts';
import { KNOWN, NOW, PRICED, SERVER, TIMING, conditionsOf, facts, shown, webWith } from '../../../fixtures/decision.ts';
import { afterLook } from '../../../fixtures/looks.ts';

type SshCheck = VirtualServerSpec['sshCheck'];

/** A server that was never ready. */
const NEW = without(PRICED, 'readyAt');
const ANSWERS: ProbeResult = { ok: true, value: { banner: 'SSH-2.0-OpenSSH_10.0' } };
const REFUSES: ProbeResult = { ok: false, error: 'connection refused' };

const checked = (sshCheck: SshCheck): VirtualServer => webWith(NEW, { spec: { sshCheck } });
/** The object after `next` is written. */
const after = (object: VirtualServer, { status }: Outcome): VirtualServer => ({ ...object, ...(status && { status }) });
/** A look at the server. `before`: what the process remembers of the last look; undefined: it has just started. */
const seen = (
  object: VirtualServer,
  probed?: ProbeResult,
  changes: Partial<Server> = {},
  { now = NOW, before }: { now?: number; before?: Outcome } = {},
): Outcome => {
  const view = viewOf(object, facts({ now, ...(before && { memo: before.memo }) }));
  return afterLook(view, (view.own ?? PRICED) as Held, { ...shown(changes), ...(probed && { probed }) });
};
const messageOf = (next: Outcome, type: string): string =>
  next.status?.conditions?.find((condition) => condition.type === type)?.message ?? '';

describe('the target of the SSH check', () => {
  it.each<{ sshCheck: SshCheck; server?: Partial<Server>; target: unknown; what: string }>([
    { what: 'nowhere', sshCheck: 'None', target: undefined },
    { what: 'the proxy', sshCheck: 'Proxy', target: { host: 'proxy.example.com', port: 20001 } },
    { what: 'the first IPv6 address', sshCheck: 'Direct', target: { host: '2001:db8::1', port: 22 } },
    { what: 'no proxy yet', sshCheck: 'Proxy', server: { sshProxy: undefined }, target: undefined },
    { what: 'no address yet', sshCheck: 'Direct', server: { ipv6: [] }, target: undefined },
    { what: 'a stopped server', sshCheck: 'Proxy', server: { status: 'stopped' }, target: undefined },
    ...['-oProxyCommand=x', 'a b', 'http://x/', 'x;y', '', 'x'.repeat(254)].map((hostname) => ({
      what: `a proxy named ${JSON.stringify(hostname.slice(0, 20))}`,
      sshCheck: 'Proxy' as const,
      server: { sshProxy: { hostname, port: 22 } },
      target: undefined,
    })),
    ...['192.0.2.1', 'example.com', 'fe80::1%eth0', '/tmp/socket'].map((address) => ({
      what: `an address ${address}`,
      sshCheck: 'Direct' as const,
      server: { ipv6: [address] },
      target: undefined,
    })),
  ])('$sshCheck: $what', ({ sshCheck, server, target }) => {
    expect(sshTarget(checked(sshCheck), { ...SERVER, ...server })).toEqual(target);
  });

  it('has no SSH check while it is being deleted', () => {
    expect(sshTarget(webWith(KNOWN, { deleting: true, spec: { sshCheck: 'Proxy' } }), SERVER)).toBeUndefined();
  });
});

describe('a server that is read with sshCheck', () => {
  it('is Ready when an SSH server answers, and reports where and what', () => {
    const next = seen(checked('Proxy'), ANSWERS);
    expect(conditionsOf(next)).toEqual({ Ready: 'True Available', Reachable: 'True Reachable' });
    expect(messageOf(next, 'Reachable')).toBe('An SSH server answers at proxy.example.com:20001: SSH-2.0-OpenSSH_10.0');
    expect(untilVisit(next.when)).toBeGreaterThan(TIMING.pollMs);
    expect(messageOf(seen(checked('Direct'), ANSWERS), 'Reachable')).toContain('[2001:db8::1]:22');
  });

  it('is not Ready when no SSH server answers, is checked again soon, and recovers on its own', () => {
    const ready = after(checked('Proxy'), seen(checked('Proxy'), ANSWERS));
    const gone = seen(ready, REFUSES);
    expect(ready.status?.record?.readyAt).toBeDefined();
    expect(conditionsOf(gone)).toEqual({
      Ready: 'False Unreachable',
      Reachable: 'False Unreachable',
      Reconciling: 'True Unreachable',
    });
    expect(messageOf(gone, 'Ready')).toContain('no SSH server answers at proxy.example.com:20001: connection refused');
    expect(untilVisit(gone.when)).toBeLessThanOrEqual(TIMING.pollMs);
    expect(gone.events).toMatchObject([{ type: 'Warning', reason: 'Unreachable' }]);
    const back = seen(after(ready, gone), ANSWERS);
    expect(conditionsOf(back)).toEqual({ Ready: 'True Available', Reachable: 'True Reachable' });
  });

  describe('and that no SSH server answers for yet', () => {
    const MINUTES = 60_000;
    const booting = {
      Ready: 'False Booting',
      Reachable: 'False Booting',
      Reconciling: 'True Booting',
    };
    const first = seen(checked('Proxy'), REFUSES);
    const started = after(checked('Proxy'), first);

    it('is booting for 5 minutes, without an Event, and is checked again soon', () => {
      expect(conditionsOf(first)).toEqual(booting);
      expect(messageOf(first, 'Ready')).toContain(
        'no SSH server answers at proxy.example.com:20001: connection refused',
      );
      expect(untilVisit(first.when)).toBeLessThanOrEqual(TIMING.pollMs);
      const silent: ProbeResult = { ok: false, error: 'no connection within 5 s' };
      const later = seen(started, silent, {}, { now: NOW + 4 * MINUTES, before: first });
      expect(conditionsOf(later)).toEqual(booting);
      expect([...first.events, ...later.events]).toEqual([]);
      const late = seen(after(started, later), REFUSES, {}, { now: NOW + 5 * MINUTES, before: later });
      expect(conditionsOf(late)).toMatchObject({ Ready: 'False Unreachable', Reachable: 'False Unreachable' });
      expect(late.events).toMatchObject([{ type: 'Warning', reason: 'Unreachable' }]);
      const still = seen(after(started, late), REFUSES, {}, { now: NOW + 6 * MINUTES, before: late });
      expect(conditionsOf(still)).toMatchObject({ Ready: 'False Unreachable' });
    });

    it('is not booting if it was Ready until you asked for the check', () => {
      const ready = webWith(PRICED, { spec: { sshCheck: 'Proxy' } });
      expect(conditionsOf(seen(ready, REFUSES))).toMatchObject({ Ready: 'False Unreachable' });
    });

    it('is not booting an hour after its order, although the process has just started', () => {
      const hour = { now: Date.parse(NEW.attemptedAt) + 61 * MINUTES };
      expect(conditionsOf(seen(checked('Proxy'), REFUSES, {}, hour))).toMatchObject({ Ready: 'False Unreachable' });
    });

    it('is not booting if the object adopted it', () => {
      const adopted = { ...NEW, mode: 'adopt' as const };
      const object = webWith(adopted, { spec: { sshCheck: 'Proxy' } });
      const next = afterLook(viewOf(object, facts()), adopted, { ...shown(), probed: REFUSES });
      expect(conditionsOf(next)).toMatchObject({ Ready: 'False Unreachable' });
    });

    it('is booting again once it was stopped and started', () => {
      const ready = after(checked('Proxy'), seen(checked('Proxy'), ANSWERS));
      const stopped = seen(ready, undefined, { status: 'stopped' });
      expect(conditionsOf(seen(after(ready, stopped), REFUSES, {}, { before: stopped }))).toEqual(booting);
    });

    it('is booting for an operator that has just started, unless it was ready before', () => {
      expect(conditionsOf(seen(started, REFUSES))).toEqual(booting);
    });
  });

  it('starts its ttl only once SSH answers', () => {
    const object = webWith(NEW, { spec: { sshCheck: 'Proxy', ttl: '1h' } });
    expect(seen(object, REFUSES).status?.record?.readyAt).toBeUndefined();
    expect(seen(object, ANSWERS).status?.record?.readyAt).toBeDefined();
  });

  it('waits for an address, and reports which kind', () => {
    const next = seen(checked('Proxy'), undefined, { sshProxy: undefined });
    expect(conditionsOf(next)).toEqual({ Ready: 'False AddressPending', Reconciling: 'True AddressPending' });
    expect(messageOf(next, 'Ready')).toContain('no SSH proxy');
    expect(messageOf(seen(checked('Direct'), undefined, { ipv6: [] }), 'Ready')).toContain('no IPv6 address');
  });

  it('writes the same status when nothing has changed', () => {
    for (const probed of [ANSWERS, REFUSES]) {
      const first = seen(checked('Proxy'), probed, { product: 'VPSX8' });
      expect(seen(after(checked('Proxy'), first), probed, { product: 'VPSX8' }).status).toEqual(first.status);
    }
  });

  it('loses the condition as soon as the spec no longer asks for the check', () => {
    const { status } = seen(checked('Proxy'), REFUSES);
    const object = webWith(NEW, { spec: { sshCheck: 'None' }, ...(status && { status }) });
    expect(conditionsOf(seen(object))).toEqual({ Ready: 'True Available' });
    expect(conditionsOf(waited(viewOf(object, facts()), ON_CHANGE))).not.toHaveProperty('Reachable');
  });
});
