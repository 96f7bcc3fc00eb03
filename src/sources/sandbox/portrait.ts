import type { Gender } from './names.ts'
import { DETAILS } from './portrait-details.ts'
import { drawBackdrop, drawBody, drawFace, drawHead } from './portrait-figure.ts'
import { HEADS } from './portrait-heads.ts'
import { BACKDROPS, CLOTHES, SKINS } from './portrait-palette.ts'
import type { Seed } from './seed.ts'

/** Features only: millions of numbers share a portrait, so its address does not reveal a number. */
export function toPortraitCode(seed: Seed, gender: Gender): string {
  const choose = (choices: readonly unknown[]) => seed.between(0, choices.length - 1)
  const [skin, head, detail] = [choose(SKINS), choose(HEADS[gender]), choose(DETAILS[gender])]
  return `${gender}-${skin}-${head}-${detail}-${choose(CLOTHES)}-${choose(BACKDROPS)}`
}

const PORTRAIT_CODE = /^([mf])-([0-9])-([0-9])-([0-9])-([0-9])-([0-9])$/

/** A head and shoulders as SVG, or undefined when the code is not one that `toPortraitCode` makes. */
export function drawPortrait(code: string): string | undefined {
  const features = PORTRAIT_CODE.exec(code)
  if (!features) return undefined
  const gender = features[1] as Gender
  const chosen = <T>(choices: readonly T[], place: number) => choices[Number(features[place])]
  const skin = chosen(SKINS, 2)
  const head = chosen(HEADS[gender], 3)
  const detail = chosen(DETAILS[gender], 4)
  const cloth = chosen(CLOTHES, 5)
  const backdrop = chosen(BACKDROPS, 6)
  if (!skin || !head || !detail || !cloth || !backdrop) return undefined
  const layers = [
    drawBackdrop(backdrop),
    head.behind,
    drawBody(gender, skin, cloth),
    drawHead(skin),
    detail.under,
    drawFace(gender, skin),
    detail.over,
    head.front(cloth),
  ]
  return `${OPENING}${layers.join('')}${SPECIMEN}</svg>`
}

// Even-odd filling lets one path have a hole: the face in a hijab.
const OPENING =
  '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="400" viewBox="0 0 320 400" ' +
  'fill-rule="evenodd" role="img" aria-label="Specimen portrait">'

const SPECIMEN =
  '<text transform="translate(9 12) rotate(90)" font-family="sans-serif" font-size="10" letter-spacing="2" ' +
  'fill="#000000" fill-opacity="0.4">SPECIMEN</text>'
