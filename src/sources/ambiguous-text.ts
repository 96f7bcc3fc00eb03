import { isAboutNoPerson, withoutEnd } from './reply.ts'

/** Of any success or failure: these say nothing about a person. Web frameworks and proxies repeat the HTTP status in the body. */
const GENERAL =
  /^([45]\d\d|200|true|false|yes|no|n?ok|success(ful)?|completed?|unsuccessful|fail(ed|ure)?|bad request|forbidden|(access|permission) denied|too many requests|something went wrong|((an?|unknown|unexpected|internal|server|system|service|general|validation|http) )*(errors?|exception)( (has )?occurred)?|(verification|validation|request|look-?up|search|operation|transaction|process) (has |was |is )?(failed|failure|error|unsuccessful|rejected|declined))$/i

export const isGeneral = (value: unknown): boolean => GENERAL.test(toWords(value))

/** BAD_REQUEST is "BAD REQUEST". */
export const toWords = (value: unknown): string =>
  withoutEnd(String(value).replaceAll(/[_-]/g, ' ').replaceAll(/\s+/g, ' ')).trim()

/** Why a text cannot stand for "no such person"; undefined if it can. "Not found" is what a web server says of a path. */
export function findAmbiguity(text: string): string | undefined {
  if (!isAboutNoPerson(text) && !isAboutNoPerson(toWords(text)) && !isGeneral(text)) return undefined
  return `has ${JSON.stringify(text)}, which may be about a path, an account or a failure: it cannot mean that there is no such person.`
}
