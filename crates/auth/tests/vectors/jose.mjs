// Prints a token of every algorithm, made by jose, with the key that verifies it and the set of the public keys.
import { readFileSync } from 'node:fs';
import { SignJWT, exportJWK, exportSPKI, generateKeyPair } from 'jose';
import { randomBytes } from 'node:crypto';

const claims = {
  iss: 'https://issuer.example',
  aud: ['orders', 'billing'],
  sub: 'zoë',
  iat: 1700000000,
  nbf: 1700000000,
  exp: 4102444800,
};
const shared = { HS256: 32, HS384: 48, HS512: 64 };
const pairs = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'EdDSA'];

const { version } = JSON.parse(readFileSync(new URL('node_modules/jose/package.json', import.meta.url)));
const tokens = [];
const jwks = { keys: [] };

async function add(algorithm, private_, key) {
  const kid = `js-${algorithm}`;
  const token = await new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' }).sign(private_);
  tokens.push({ algorithm, kid, key, token });
  return kid;
}

for (const [algorithm, length] of Object.entries(shared)) {
  const secret = randomBytes(length).toString('base64url');
  await add(algorithm, new TextEncoder().encode(secret), secret);
}
for (const algorithm of pairs) {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const kid = await add(algorithm, privateKey, await exportSPKI(publicKey));
  jwks.keys.push({ ...(await exportJWK(publicKey)), kid, alg: algorithm, use: 'sig' });
}
console.log(JSON.stringify({ maker: `jose ${version}`, claims, tokens, jwks }, null, 2));
