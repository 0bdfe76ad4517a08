// An OpenID provider for tests: oidc-provider on 127.0.0.1, at a free port, until its standard input ends. With the files of a
// certificate and its key it speaks TLS and shows its pages for signing in: any name and password, then the consent.
//
// Clients: `basic` and `body`, named after how they show themselves, both with the secret `s3cret`. Refresh tokens are good once; one
// that comes twice ends its whole family. Beside the provider's own endpoints:
//   POST /seed      a refresh token, without a browser
//   GET  /log       every answer of the token endpoint, in order, and every family that was ended
//   POST /hold      keeps answers of the token endpoint back, though what they grant is granted
//   POST /release   sends them, and no longer keeps any back
import fs from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { errors, Provider } from 'oidc-provider';

const TTL = Number(process.argv[2] ?? 120);
const [, , , CERTIFICATE, KEY] = process.argv;
const SECRET = 's3cret';
const SCOPE = 'openid offline_access read write';

const client = (id, method) => ({
  client_id: id,
  client_secret: SECRET,
  token_endpoint_auth_method: method,
  grant_types: ['client_credentials', 'authorization_code', 'refresh_token', 'account_credentials'],
  response_types: ['code'],
  redirect_uris: ['http://127.0.0.1/callback', ...['one', 'basic', 'body'].map((name) => `https://shop.example/${name}/callback`)],
  scope: SCOPE,
});

const server = CERTIFICATE
  ? https.createServer({ cert: fs.readFileSync(CERTIFICATE), key: fs.readFileSync(KEY) })
  : http.createServer();
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const issuer = `${CERTIFICATE ? 'https' : 'http'}://127.0.0.1:${server.address().port}`;

const provider = new Provider(issuer, {
  clients: [client('basic', 'client_secret_basic'), client('body', 'client_secret_post')],
  scopes: SCOPE.split(' '),
  features: {
    devInteractions: { enabled: CERTIFICATE !== undefined },
    clientCredentials: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => 'urn:api',
      useGrantedResource: () => true,
      getResourceServerInfo: (_, audience) => ({
        audience, scope: SCOPE, accessTokenTTL: TTL, accessTokenFormat: 'opaque',
      }),
    },
  },
  rotateRefreshToken: true,
  issueRefreshToken: () => true,
  ttl: { ClientCredentials: TTL, AccessToken: TTL, RefreshToken: 86400, Grant: 86400 },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
});

// Whose account it is, beside the credentials of the client.
provider.registerGrantType('account_credentials', async (ctx) => {
  const { client, params } = ctx.oidc;
  if (params.account_id !== 'account-1') throw new errors.InvalidGrant('no such account');
  const token = new provider.ClientCredentials({ client, scope: 'read' });
  ctx.body = { access_token: await token.save(), expires_in: token.expiration, token_type: 'Bearer' };
}, new Set(['account_id']));

const log = [];
const note = (event, ctx, more) => {
  const { grant_type, refresh_token } = ctx.oidc.params ?? {};
  log.push({ event, client: ctx.oidc.client?.clientId, grant_type, shown: refresh_token, ...more });
};
provider.on('grant.success', (ctx) => {
  note('granted', ctx, { access_token: ctx.body.access_token, refresh_token: ctx.body.refresh_token });
});
provider.on('grant.error', (ctx, error) => note('refused', ctx, { error: error.error }));
provider.on('grant.revoked', (ctx) => note('revoked', ctx, {}));

const seed = async () => {
  const client = await provider.Client.find('basic');
  const grant = new provider.Grant({ accountId: 'alice', clientId: client.clientId });
  grant.addOIDCScope('openid offline_access');
  grant.addResourceScope('urn:api', 'read');
  const grantId = await grant.save();
  const token = new provider.RefreshToken({
    accountId: 'alice', client, grantId, gty: 'authorization_code', scope: 'openid offline_access read',
    resource: 'urn:api', rotations: 0, iiat: Math.floor(Date.now() / 1000),
  });
  return token.save();
};

let held = null;
// The last word before an answer goes out.
provider.use(async (ctx, next) => {
  await next();
  if (held && ctx.path === '/token') await new Promise((resolve) => held.push(resolve));
});

const own = {
  'POST /seed': seed,
  'GET /log': () => JSON.stringify(log),
  'POST /hold': () => { held ??= []; return ''; },
  'POST /release': () => { const waiting = held ?? []; held = null; waiting.forEach((go) => go()); return ''; },
};
const provide = provider.callback();
server.on('request', async (request, response) => {
  const answer = own[`${request.method} ${request.url}`];
  if (!answer) return provide(request, response);
  try {
    response.end(await answer());
  } catch (error) {
    response.statusCode = 500;
    response.end(String(error.stack));
  }
});

// Who reads the line below closes the pipe behind it, and the provider prints more.
process.stdout.on('error', () => {});
process.stdin.on('end', () => process.exit(0)).resume();
console.log(`ready ${issuer}`);
