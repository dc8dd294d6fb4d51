// The client scenarios that the conformance suite has for a revision, one a line:
// `client_scenarios.mjs REQUIREMENTS_FILE`. Those it does not score are among them, but for the
// extensions that the adapter does not speak.
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
