import type { Command } from 'commander'
import { say } from '../app/terminal.ts'

export function addGenerateCommand(program: Command): void {
  program
    .command('generate', { hidden: true })
    .description('write the generated files of this checkout: OpenAPI, docs/configuration.md, .env.example')
    .action(async () => {
      const { generate } = await import('../app/generate.ts')
      for (const name of await generate('.')) say(`wrote ${name}`)
    })
}
