// Prints the client scenarios of the conformance suite for a revision, one per line:
// `client_scenarios.mjs REQUIREMENTS_FILE`. Unscored ones are included, except the extensions that
// the client does not support.
import { readFileSync } from 'node:fs';

const ABSENT = new Set([
  'auth/client-credentials-jwt',
  'auth/dpop',
  'auth/dpop-nonce',
  'auth/enterprise-managed-authorization',
  'auth/wif-jwt-bearer',
]);

const text = readFileSync(process.argv[2], 'utf8');
const section = (name) => text.match(new RegExp(`^${name}:\\n((?:[ \\t].*\\n?|\\n)*)`, 'm'))?.[1] ?? '';
const scored = [...section('client').matchAll(/^ *- (\S+)$/gm)].map((found) => found[1]);
const unscored = [...section('not_scored').matchAll(/- scenario: (\S+)\n +leg: client$/gm)]
  .map((found) => found[1])
  .filter((name) => !ABSENT.has(name));
if (scored.length === 0) throw new Error(`no client scenario in ${process.argv[2]}`);
for (const name of [...scored, ...unscored]) console.log(name);
