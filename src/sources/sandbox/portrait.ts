import type { Gender } from './names.ts'
import type { Seed } from './seed.ts'

const COATS = ['#1f5f5b', '#6b5a3c', '#2f4b8a', '#b4472f', '#7a3e74', '#8a5f12']
const WALLS = ['#cfe3dc', '#f1dcc0', '#cddcec', '#ead3cf', '#dcd8ea', '#dbe2c4']
/** How many values each part of a code has. The addresses of people must not change, so parts that are not drawn stay. */
const PARTS = [6, 6, 4, COATS.length, WALLS.length]
const PORTRAIT_CODE = /^[mf]-[0-5]-[0-5]-[0-3]-([0-5])-([0-5])$/

/** Millions of numbers share a code, so the address of a portrait does not reveal a number. */
export function toPortraitCode(seed: Seed, gender: Gender): string {
  let code: string = gender
  for (const size of PARTS) code += `-${seed.between(0, size - 1)}`
  return code
}

/** A silhouette as SVG, or undefined when the code is not one that `toPortraitCode` makes. */
export function drawPortrait(code: string): string | undefined {
  const [, coat, wall] = PORTRAIT_CODE.exec(code) ?? []
  if (coat === undefined || wall === undefined) return undefined
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="400" viewBox="0 0 320 400" role="img" ' +
    `aria-label="Specimen portrait"><rect width="320" height="400" fill="${WALLS[Number(wall)]}"/>` +
    `<g fill="${COATS[Number(coat)]}"><ellipse cx="160" cy="160" rx="66" ry="84"/>` +
    '<path d="M10 400C14 314 70 280 160 280C250 280 306 314 310 400Z"/></g>' +
    '<text x="160" y="380" text-anchor="middle" font-family="sans-serif" font-size="20" letter-spacing="4" ' +
    'fill="#ffffff">SPECIMEN</text></svg>'
  )
}
