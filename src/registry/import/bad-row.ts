/** Why a row is rejected. The reason names fields and rules, never a value. */
export class BadRow extends Error {
  constructor(reason: string) {
    super(reason)
    this.name = 'BadRow'
  }
}

/** The name of a field as the file spells it, or a placeholder where it may be a value in the wrong place. */
export const toShownName = (name: string): string =>
  /^[A-Za-z_][\w.]{0,79}$/.test(name) && !/\d{6}/.test(name) ? name : '[a name that is not shown]'
