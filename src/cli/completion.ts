import { Argument, type Command } from 'commander'
import { say } from '../server/terminal.ts'
import { toBashScript } from './completion/bash.ts'
import { listCommandNodes } from './completion/command-nodes.ts'
import { toFishScript } from './completion/fish.ts'
import { toZshScript } from './completion/zsh.ts'
import { addHelp, EXIT_CODES } from './help.ts'

const SCRIPTS = { bash: toBashScript, zsh: toZshScript, fish: toFishScript } as const

/** The program is loaded in full on demand: when this command is named, the others are not loaded. */
export const createAddCompletionCommand =
  (createFullProgram: () => Promise<Command>) =>
  (program: Command): void => {
    const completion = program
      .command('completion')
      .description('print a script that completes commands and options in your shell')
      .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SCRIPTS)))
      .action(async (shell: keyof typeof SCRIPTS) => {
        say(SCRIPTS[shell](listCommandNodes(await createFullProgram())))
      })
    addHelp(completion, {
      details:
        'Write the script to the folder from which your shell loads completions, as below. Create the folder if it does not exist.',
      exitCodes: EXIT_CODES,
      examples: {
        'completion bash > ~/.local/share/bash-completion/completions/tabbat': 'for bash',
        'completion zsh > "${fpath[1]}/_tabbat"': 'for zsh',
        'completion fish > ~/.config/fish/completions/tabbat.fish': 'for fish',
      },
    })
  }
