import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toAdminOpenApi } from '../admin/openapi.ts'
import { ADMIN_ROUTES } from '../admin/routes.ts'
import { loadConfig } from '../context/config.ts'
import type { App } from '../http/app.ts'
import { requestLocally } from '../http/local-request.ts'
import { listOptions } from '../keys/options.ts'
import { SANDBOX_KEY } from '../keys/sandbox-key.ts'
import type { Operation } from '../operations/operation.ts'
import { OPERATIONS, RESOURCE_OPERATIONS } from '../operations/operations.ts'
import { toClientTypes } from '../reference/client-types.ts'
import { toConfigurationPage, toEnvExample } from '../reference/configuration-page.ts'
import { toExampleAnswer, toExampleInput, toOpenApi } from '../reference/openapi.ts'
import { toPostmanCollection } from '../reference/postman.ts'
import { createContext } from '../server/create-context.ts'
import { VERSION } from '../version.ts'
import { createApiServer } from './api-server.ts'

/** The generated files of the project with their content. A test fails when one is stale. */
export async function toGeneratedFiles(): Promise<Readonly<Record<string, string>>> {
  const openApi = toOpenApi(OPERATIONS, RESOURCE_OPERATIONS, await collectExamples(), VERSION)
  return {
    'openapi.json': `${JSON.stringify(openApi, null, 2)}\n`,
    'examples/postman.json': `${JSON.stringify(toPostmanCollection(openApi), null, 2)}\n`,
    'packages/client/src/api.ts': toClientTypes(openApi),
    'docs/admin-openapi.json': `${JSON.stringify(toAdminOpenApi(ADMIN_ROUTES, VERSION), null, 2)}\n`,
    'docs/configuration.md': toConfigurationPage(),
    'docs/key-options.md': toKeyOptionsPage(),
    '.env.example': toEnvExample(),
  }
}

function toKeyOptionsPage(): string {
  const rows = listOptions().map(([field, { flag, help, change }]) => {
    const removal = 'word' in change ? `\`${change.word}\`` : `\`${flag.replace('--', '--no-')}\``
    return `| \`${flag}\` | \`${field}\` | ${help.replaceAll('<', '&lt;')} | ${removal} |`
  })
  return `# Options of API keys

Besides its name, mode, scopes and expiry, a key has these options. The flag is for \`tabbat keys create\` and \`tabbat keys change\`, the
field for the admin API and the audit log. The last column removes the option in a change. See [keys.md](keys.md#api-keys). This page
is generated: \`npm run generate\`.

| flag | field | meaning | removed by |
|---|---|---|---|
${rows.join('\n')}
`
}

export async function generate(folder: string): Promise<string[]> {
  const files = Object.entries(await toGeneratedFiles())
  for (const [name, content] of files) writeFileSync(join(folder, name), content)
  return files.map(([name]) => name)
}

/** The examples are responses of a running server, so they cannot be wrong. */
async function collectExamples(): Promise<Record<string, unknown>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tabbat-generate-'))
  const context = await createContext(
    loadConfig({ TABBAT_DATA_DIR: dataDir, TABBAT_LOG_LEVEL: 'silent' }, ''),
  )
  const app = createApiServer(context)
  try {
    const answers = OPERATIONS.map(async (operation) => [
      operation.operationId,
      await askExample(app, operation),
    ])
    return Object.fromEntries(await Promise.all(answers))
  } finally {
    await app.close()
    await context.close()
    rmSync(dataDir, { recursive: true })
  }
}

export async function askExample(app: App, operation: Operation): Promise<unknown> {
  const input = toExampleInput(operation)
  const url = operation.path.replace(/:([a-z]+)/g, (_match, name: string) => input[name] ?? '')
  const { body } = await requestLocally(app, {
    method: operation.method,
    path: operation.inputFrom === 'body or query' ? `${url}?${new URLSearchParams(input)}` : url,
    headers: { authorization: `Bearer ${SANDBOX_KEY}` },
    body: operation.inputFrom === 'body' ? JSON.stringify(input) : undefined,
  })
  return toExampleAnswer(body.toString())
}
