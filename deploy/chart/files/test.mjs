// Run by `helm test`: waits until a replica answers that it leads, or with observeOnly.enabled that it only observes. Each request opens a new connection, because the
// Service picks a replica for each connection. Secure metrics need a token, which the test does not have, so the test only
// checks that a replica asks for a token.
import * as http from 'node:http';
import * as https from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

const { METRICS_URL: url, OBSERVES, TIMEOUT_MS = 60_000 } = process.env;
const isSecure = url.startsWith('https:');
const [SAYS, WORKS] =
  OBSERVES === 'true'
    ? ['only observes', /^vps_operator_observe_only 1$/m]
    : ['leads', /^leader_election_master_status\{name="vps-operator"\} 1$/m];

/** What a replica says, or what went wrong. */
async function ask() {
  try {
    const answer = await new Promise((resolve, reject) => {
      const { get } = isSecure ? https : http;
      const request = get(url, { agent: false, timeout: 5_000, rejectUnauthorized: false }, resolve);
      request.on('timeout', () => request.destroy(new Error('no answer within 5 s')));
      request.on('error', reject);
    });
    const body = await text(answer);
    if (isSecure && answer.statusCode === 401) return 'asks for a token';
    if (answer.statusCode !== 200) return `HTTP ${answer.statusCode}`;
    return WORKS.test(body) ? SAYS : 'a standby answered';
  } catch (error) {
    return error.message;
  }
}

const deadline = Date.now() + Number(TIMEOUT_MS);
let last = await ask();
const isGood = () => last === SAYS || last === 'asks for a token';
while (!isGood() && Date.now() < deadline) {
  await pause(500);
  last = await ask();
}
if (isGood()) console.log(`A replica behind ${url} ${last}.`);
else console.error(`No replica behind ${url} ${SAYS}: ${last}.`);
process.exitCode = isGood() ? 0 : 1;
