import { userInfo } from 'node:os'
import { holdsPersonNumber } from './free-text.ts'

const SUFFIX = ' (cli)'

/** The author of what is done on the command line: the system user and the word cli. No account can have such a name. */
export const toCommandAuthor = (): string => `${readSystemUser()}${SUFFIX}`

export const isCommandAuthor = (name: string): boolean => name.endsWith(SUFFIX)

/** The number of the user where it has no name, as in many containers, or a name that is not plain text. */
function readSystemUser(): string {
  try {
    const { username, uid } = userInfo()
    return isPlainName(username) ? username : `uid ${uid}`
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** Also names of Windows domains, such as SHOP\ada. */
const isPlainName = (name: string) => /^[\p{L}\d._@$\\-]{1,64}$/u.test(name) && !holdsPersonNumber(name)
