// A real OpenID Connect provider for the tests, on a port of this machine. What it says of people, and
// how it misbehaves, is told by POST /control; everything else is oidc-provider's own.

import { createHmac, generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";

import { SignJWT } from "jose";
import Provider from "oidc-provider";

const { PORT, REDIRECT_URI, CLIENT_ID, CLIENT_SECRET } = process.env;
const issuer = `http://127.0.0.1:${PORT}`;

function pair() {
  return generateKeyPairSync("rsa", { modulusLength: 2048 });
}

const own = pair();
const stranger = pair();
const kid = "of-the-tests";

let people = {};
let misbehaves = "";

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
      redirect_uris: [REDIRECT_URI],
      grant_types: ["authorization_code"],
      response_types: ["code"],
      token_endpoint_auth_method: "client_secret_basic",
    },
  ],
  jwks: { keys: [{ ...own.privateKey.export({ format: "jwk" }), kid, use: "sig", alg: "RS256" }] },
  cookies: { keys: ["only for tests"] },
  pkce: { required: () => true },
  claims: { openid: ["sub"], profile: ["preferred_username", "groups"], email: ["email"] },
  findAccount: (_, sub) => ({
    accountId: sub,
    claims: () => ({ sub, preferred_username: sub, ...people[sub] }),
  }),
  features: { devInteractions: { enabled: true } },
});

const part = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");

// Claims as they were, or as they should not be, signed as they should be, or not.
async function spoiled(token) {
  const claims = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
  const now = Math.floor(Date.now() / 1000);
  const changes = {
    audience: { aud: "another-client" },
    audiences: { aud: [CLIENT_ID, "another-client"] },
    issuer: { iss: "http://127.0.0.1:1" },
    nonce: { nonce: "of-another-sign-in" },
    "no nonce": { nonce: undefined },
    "no end": { exp: undefined },
    expired: { iat: now - 7200, exp: now - 3600 },
    "another client's": { azp: "another-client" },
  };
  const said = { ...claims, ...changes[misbehaves] };
  if (misbehaves === "unsigned") {
    return `${part({ alg: "none" })}.${part(said)}.`;
  }
  if (misbehaves === "hmac") {
    const text = `${part({ alg: "HS256", kid })}.${part(said)}`;
    return `${text}.${createHmac("sha256", CLIENT_SECRET).update(text).digest("base64url")}`;
  }
  const key = misbehaves === "another key" ? stranger.privateKey : own.privateKey;
  return new SignJWT(said).setProtectedHeader({ alg: "RS256", kid }).sign(key);
}

provider.use(async (ctx, next) => {
  await next();
  if (ctx.path === "/token" && ctx.body?.id_token && misbehaves) {
    ctx.body = { ...ctx.body, id_token: await spoiled(ctx.body.id_token) };
  }
  if (ctx.path === "/me" && misbehaves === "another subject") {
    ctx.body = { ...ctx.body, sub: "somebody-else" };
  }
});

const answer = provider.callback();

createServer((request, response) => {
  if (request.url !== "/control") {
    answer(request, response);
    return;
  }
  let text = "";
  request.on("data", (chunk) => (text += chunk));
  request.on("end", () => {
    ({ people, misbehaves } = JSON.parse(text));
    response.writeHead(204).end();
  });
}).listen(Number(PORT), "127.0.0.1", () => console.log("ready"));
