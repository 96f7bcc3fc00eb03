import { delimiter } from 'node:path'

/** The folders in which programs are found. */
export const listProgramFolders = (): string[] =>
  (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
