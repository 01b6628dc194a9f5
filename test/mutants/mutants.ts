/** Breaks of the product, one line each, that the suites have to notice. */

export interface Mutant {
  name: string;
  /** Below the project's root. */
  file: string;
  /** Must stand in the file exactly once. */
  find: string;
  replace: string;
  /** Part of the suite that is asked: files of tests, or one crash plan; left out: the simulation. */
  tests?: string[];
  plan?: string;
}

export const MUTANTS: Mutant[] = [
  {
    name: 'claim without resourceVersion',
    file: 'src/kube/client.ts',
    find: 'metadata: { uid: version.uid, resourceVersion: version.resourceVersion, ...changes },',
    replace: 'metadata: { uid: version.uid, ...changes },',
    tests: ['test/integration/kube/client.test.ts'],
  },
  {
    name: 'a create that was lost after it was sent is taken for not created',
    file: 'src/provider/create.ts',
    find: "kind: post.isOut ? 'unknown' : 'notCreated'",
    replace: "kind: 'notCreated'",
  },
  {
    name: 'the finalizer is released before the DELETE',
    file: 'src/decision/checks-deleting.ts',
    find: 'if (facts.memo.cancelled === own.identifier) {',
    replace: 'if (own.identifier !== undefined) {',
  },
  {
    name: 'the journal is not synced',
    file: 'src/controller/journal-file.ts',
    find: 'await this.#handle.datasync();',
    replace: 'await Promise.resolve();',
    tests: ['--project', 'unit', 'test/unit/controller/journal.test.ts'],
  },
  {
    name: 'the owner of a record is not looked at',
    file: 'src/decision/record.ts',
    find: 'const own = annotated?.owner === uid ? annotated : undefined;',
    replace: 'const own = annotated;',
  },
  {
    name: 'an accepted task is forgotten when its record meets a conflict',
    file: 'src/controller/perform.ts',
    find: "if (result.kind === 'created') await room.journal.task(uid, attempt, result.task);",
    replace: '',
    tests: ['test/integration/create-meanwhile.test.ts'],
  },
  {
    name: 'a task that is not found is taken for leave to create again',
    file: 'src/decision/settle-task.ts',
    find: 'return record.identifier === undefined ? vanished(at, record) : goOn({ ...memo, readInstead: true });',
    replace: 'return goOn(memo, { record: { owner: record.owner, mode: record.mode } });',
    tests: ['--project', 'unit', 'test/unit/decision'],
  },
  {
    name: 'any 404 is taken for gone',
    file: 'src/controller/perform.ts',
    find: 'if (account !== session.account) {',
    replace: 'if (account === undefined) {',
    tests: ['test/integration/credentials'],
  },
  {
    name: 'the lease is not looked at',
    file: 'src/controller/leader-election.ts',
    find: 'return this.#leads && this.#isFresh();',
    replace: 'return this.#leads;',
  },
  {
    name: 'the live read before a DELETE is left out',
    file: 'src/controller/perform.ts',
    find: 'const live = await room.kube.getVirtualServer(namespace, name);',
    replace: 'const live = target.object as VirtualServer | undefined;',
  },
  {
    name: 'the mirror is not looked at',
    file: 'src/decision/record.ts',
    find: 'const mirror = object.status?.record?.owner === uid ? object.status.record : undefined;',
    replace: 'const mirror = undefined as ServerRecord | undefined;',
  },
  {
    name: 'that the journal knows nothing is taken for proof',
    file: 'src/decision/record.ts',
    find: "if (state === 'minted') return withoutAttempt(record);",
    replace: "if (state !== 'task') return withoutAttempt(record);",
  },
  {
    name: 'the address family follows the resolver instead of the first connection',
    file: 'src/provider/connector.ts',
    find: 'const first = this.#family ?? addresses[0]?.family;',
    replace: 'const first = addresses[0]?.family;',
    tests: ['--project', 'unit', 'test/unit/provider/connector.test.ts'],
  },
  {
    name: 'an attempt of another process is not waited for',
    file: 'src/decision/checks.ts',
    find: 'return facts.now - since < facts.timing.takeoverMs;',
    replace: 'return false;',
    tests: ['test/integration/crash.test.ts'],
  },
  {
    name: 'an attempt may be sent by another visit than the one that claimed it',
    file: 'src/decision/checks-ordering.ts',
    find: 'facts.claimed !== own.attempt) return undefined;',
    replace: 'own.task !== undefined) return undefined;',
  },
  {
    name: 'deletionProtection is not looked at',
    file: 'src/decision/checks-deleting.ts',
    find: 'if (!deleting || !object.spec.deletionProtection) return undefined;',
    replace: 'if (object.metadata.name !== "") return undefined;',
  },
  {
    name: 'Retain is not looked at',
    file: 'src/decision/checks-deleting.ts',
    find: "if (!deleting || object.spec.deletionPolicy !== 'Retain' || own === undefined) return undefined;",
    replace: 'if (object.metadata.name !== "" || own === undefined) return undefined;',
  },
  {
    name: 'the mirror of an outlived attempt is left as it is',
    file: 'src/decision/record.ts',
    find: 'return mirror?.attempt !== undefined && mirror.attempt !== record.attempt;',
    replace: 'return mirror?.attempt === "none" && mirror.attempt !== record.attempt;',
  },
  {
    name: 'two holders of one server are not looked at',
    file: 'src/controller/holders.ts',
    find: 'if (holders === undefined || (holders.size === 1 && holders.has(uid))) return [];',
    replace: 'if (holders !== undefined || uid !== "") return [];',
    tests: ['test/integration/adoption'],
  },
  {
    name: 'the live read before a DELETE is left out, in real processes',
    file: 'src/controller/perform.ts',
    find: 'const live = await room.kube.getVirtualServer(namespace, name);',
    replace: 'const live = target.object as VirtualServer | undefined;',
    plan: 'stale/retained-while-deleting/service:GET-task:attempt+task+identifier+deleting+shown/frozen',
  },
  {
    name: 'a status is written without resourceVersion',
    file: 'src/kube/client.ts',
    find: 'metadata: { resourceVersion },',
    replace: 'metadata: {},',
    plan: 'crash/life/kube:LIST/error',
  },
  {
    name: 'that nobody answers for SSH is not looked at',
    file: 'src/decision/reach.ts',
    find: "return { verdict: { reason, message }, reachable: { status: 'False', reason, message } };",
    replace: "return { reachable: { status: 'False', reason, message } };",
    plan: 'crash/reachable/kube:LIST/error',
  },
  {
    name: 'a catalog whose last reading failed is taken for one in order',
    file: 'src/controller/catalogs.ts',
    find: "const isInOrder = currentReason(status?.conditions) === 'Available';",
    replace: 'const isInOrder = currentReason(status?.conditions) !== undefined;',
    plan: 'crash/catalog/service:GET-products:catalog+ready+asked/error',
  },
  {
    name: 'the plugin says its word without the attempt',
    file: 'src/cli/vps/commands/resolve.ts',
    find: 'await cluster.annotate(object, notCreated(attempt));',
    replace: 'await cluster.annotate(object, notCreated(attempt.slice(1)));',
    plan: 'crash/unknown-and-not-created/kube:LIST/error',
  },
  {
    name: 'a standby works before it leads',
    file: 'src/wiring.ts',
    find: 'await election?.acquire();',
    replace: 'void election?.acquire();',
    plan: 'replicas/life/service:GET-products/kill-before',
  },
  {
    name: 'that a server was cancelled at its end is not written down',
    file: 'src/decision/checks-expiry.ts',
    find: "return { type: 'record', record: { ...own, expiredAt: timestamp(facts.now) }, why: 'expired' };",
    replace: "return { type: 'record', record: own, why: 'expired' };",
    tests: ['test/unit/decision/checks-expiry.test.ts'],
  },
  {
    name: 'protection is not looked at when the time of a server is over',
    file: 'src/decision/view.ts',
    find: "if (spec.deletionProtection) return 'spec.deletionProtection is true';",
    replace: "if (spec.product === '') return 'spec.deletionProtection is true';",
  },
  {
    name: 'an old event of an earlier object ends the present one',
    file: 'src/kube/informer.ts',
    find: 'if (metadata.uid === cached.metadata.uid) return false;',
    replace: "if (metadata.uid !== '') return false;",
    tests: ['test/unit/kube/informer.test.ts'],
  },
  {
    name: 'a Secret that changed wakes no catalog',
    file: 'src/controller/catalogs.ts',
    find: 'if (metadata.namespace !== namespace || spec.apiKeySecretRef.name !== secret) continue;',
    replace: "if (metadata.namespace !== '' || spec.apiKeySecretRef.name !== secret) continue;",
    tests: ['test/integration/catalog.test.ts'],
  },
  {
    name: 'keys that only a catalog uses are forgotten',
    file: 'src/controller/key-keeper.ts',
    find: 'return new Set([...needed, ...alsoNeeded()]);',
    replace: 'return new Set(alsoNeeded().length < 0 ? [] : needed);',
    tests: ['--project', 'unit', 'test/unit/controller/catalogs.test.ts'],
  },
  {
    name: 'a request for a reading from before the start is missed',
    file: 'src/controller/catalogs.ts',
    find: 'const isCurrent = isInOrder && status?.observedGeneration === metadata.generation && !isRequested(catalog);',
    replace: 'const isCurrent = isInOrder && status?.observedGeneration === metadata.generation;',
    tests: ['test/integration/catalog.test.ts'],
  },
  {
    name: 'whose a connection Secret is is not looked at',
    file: 'src/decision/connection.ts',
    find: 'return type === CONNECTION_SECRET_TYPE && metadata.annotations?.[OWNER_ANNOTATION] === uid;',
    replace: 'return type !== uid || metadata.annotations?.[OWNER_ANNOTATION] === CONNECTION_SECRET_TYPE;',
  },
  {
    name: 'a connection Secret of the right type is taken for its own whatever object it was made for',
    file: 'src/decision/connection.ts',
    find: 'return type === CONNECTION_SECRET_TYPE && metadata.annotations?.[OWNER_ANNOTATION] === uid;',
    replace: 'return type === CONNECTION_SECRET_TYPE && metadata.annotations?.[OWNER_ANNOTATION] !== uid + uid;',
  },
  {
    name: 'an object is let go without a look at its connection Secret',
    file: 'src/controller/perform.ts',
    find: 'await room.connections.letGo(target.object);',
    replace: '',
  },
  {
    name: 'a connection Secret keeps the data of a server that has expired',
    file: 'src/controller/perform.ts',
    find: 'action.empties === true ? await room.connections.empty(target.object) : undefined',
    replace: 'undefined',
  },
  {
    name: 'a connection Secret is written on the word of a cache',
    file: 'src/controller/connection-secrets.ts',
    find: 'await this.#confirm(object);',
    replace: '',
    tests: ['--project', 'unit', 'test/unit/controller/connection-secrets.test.ts'],
  },
  {
    name: 'a connection Secret is written while its object is being deleted',
    file: 'src/controller/connection-secrets.ts',
    find: 'if (object.spec.connectionSecretName === undefined || object.metadata.deletionTimestamp !== undefined)',
    replace: 'if (object.spec.connectionSecretName === undefined)',
    tests: ['--project', 'unit', 'test/unit/controller/connection-secrets.test.ts'],
  },
  {
    name: 'a server is shown before its adoption is written down',
    file: 'src/controller/perform.ts',
    find: 'return readServer(action.identifier, undefined, target);',
    replace: 'return lookedAt(await readServer(action.identifier, undefined, target), target, room);',
  },
  {
    name: 'a password that an answer quotes is passed on',
    file: 'src/controller/connection-secrets.ts',
    find: 'throw error instanceof KubeError ? withoutData(error) : error;',
    replace: 'throw error;',
    tests: ['--project', 'unit', 'test/unit/controller/connection-secrets.test.ts'],
  },
];
