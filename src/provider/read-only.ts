/** The provider's client of an operator that only observes: its sessions only read: they cannot order, switch, restart, change or cancel a server. */
import type { Provider, Session } from './types.ts';

export function readOnlyProvider(provider: Provider): Provider {
  return {
    account(key, told) {
      const account = provider.account(key, told);
      return {
        name: account.name,
        isAccepted: () => account.isAccepted(),
        isRefused: () => account.isRefused(),
        recoveries: () => account.recoveries(),
        retryLogin: () => account.retryLogin(),
        hasKey: (other) => account.hasKey(other),
        ordersGo: () => account.ordersGo(),
        session: (tenant) => readOnly(account.session(tenant)),
      };
    },
    close: () => provider.close(),
  };
}

function readOnly(session: Session): Session {
  const refuse = (what: string) => (): Promise<never> =>
    Promise.reject(new Error(`--observe-only: ${what} is not sent`));
  return {
    account: session.account,
    hiding: (secret) => readOnly(session.hiding(secret)),
    ensureToken: () => session.ensureToken(),
    catalog: (maxAgeMs) => session.catalog(maxAgeMs),
    zones: (maxAgeMs) => session.zones(maxAgeMs),
    hosts: (maxAgeMs) => session.hosts(maxAgeMs),
    prices: (maxAgeMs) => session.prices(maxAgeMs),
    products: () => session.products(),
    servers: () => session.servers(),
    listedServers: (maxAgeMs) => session.listedServers(maxAgeMs),
    learnListing: (identifier, runs) => session.learnListing(identifier, runs),
    listsServers: () => session.listsServers(),
    listsAll: () => session.listsAll(),
    listsCreating: () => session.listsCreating(),
    pollTask: (task) => session.pollTask(task),
    readServer: (identifier, priority) => session.readServer(identifier, priority),
    ordersNamed: () => session.ordersNamed(),
    ordersGo: () => session.ordersGo(),
    openOrder: refuse('an order'),
    orderNamed: refuse('an order'),
    setPower: refuse('a change of power'),
    reboot: refuse('a reboot'),
    setDormant: refuse('a change of power'),
    changeServer: refuse('a change'),
    deleteServer: refuse('a DELETE'),
  };
}
