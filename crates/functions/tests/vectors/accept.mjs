// Verifies the tokens made here with jose; prints who accepted how many.
import { readFileSync } from 'node:fs';
import { deepStrictEqual } from 'node:assert';
import { importSPKI, jwtVerify } from 'jose';

const read = (path) => JSON.parse(readFileSync(path, 'utf8'));
const here = process.argv[2];
const keys = read(`${here}/keys.json`);
const made = read(`${here}/tokens.json`);
const { version } = read(new URL('node_modules/jose/package.json', import.meta.url));
for (const { algorithm, token } of made.tokens) {
  const text = keys[algorithm].public;
  const key = algorithm.startsWith('HS') ? new TextEncoder().encode(text) : await importSPKI(text, algorithm);
  const { payload, protectedHeader } = await jwtVerify(token, key, {
    algorithms: [algorithm],
    audience: 'billing',
    issuer: 'https://issuer.example',
    requiredClaims: ['exp', 'iat', 'nbf'],
  });
  deepStrictEqual(payload, made.claims);
  deepStrictEqual(protectedHeader, { alg: algorithm, typ: 'JWT', kid: 'k1' });
}
console.log(`jose ${version}: ${made.tokens.length} accepted`);
