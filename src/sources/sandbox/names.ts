import type { Seed } from './seed.ts'

export type Gender = 'm' | 'f'

type Tradition = {
  readonly m: readonly string[]
  readonly f: readonly string[]
  readonly surnames: readonly string[]
}

const list = (text: string): readonly string[] => text.split(' ')

const TRADITIONS = {
  yoruba: {
    m: list('Adebayo Babatunde Kolawole Olumide Segun Tunde Ayodele Gbenga Kunle Rotimi Damilare Oladipo'),
    f: list('Folake Yetunde Titilayo Bukola Ronke Simisola Morenike Abosede Omolara Funmilayo Adenike Iyabo'),
    surnames: list(
      'Adeyemi Balogun Ogundipe Akinwande Olatunji Oyelaran Adewale Alabi Ogunleye Bankole Sowande',
    ),
  },
  igbo: {
    m: list('Chinedu Emeka Obinna Ikenna Nnamdi Chukwudi Okechukwu Azubuike Ugochukwu Kenechukwu Uzochukwu'),
    f: list('Adaeze Ngozi Chioma Nneka Amaka Ifeoma Nkechi Chinyere Ogechi Uzoamaka Adanna Nwakaego'),
    surnames: list('Okafor Okonkwo Eze Nwosu Onyeka Anyanwu Umeh Nnadi Ezeani Mbanefo Okoro Ibekwe'),
  },
  hausa: {
    m: list('Musa Ibrahim Sani Yusuf Aminu Garba Bashir Umar Kabiru Nasiru Shehu Haruna'),
    f: list('Aisha Zainab Hauwa Halima Fatima Hadiza Maryam Rukayya Amina Asabe Safiya Jummai'),
    surnames: list('Bello Abubakar Danjuma Gwarzo Suleiman Yakubu Mohammed Tanko Dikko Wada Ladan Maikudi'),
  },
  delta: {
    m: list('Osagie Osaro Ovie Edet Okon Effiong Ekong Ebiowei Oghenetega Nsikak Osaze'),
    f: list('Ebiere Itohan Ekaette Isoken Inemesit Idara Arit Adesuwa Affiong Iquo'),
    surnames: list('Etim Bassey Ekpo Dokubo Briggs Osagiede Omoruyi Oboro Ebikeme Inyang Udofia'),
  },
  middleBelt: {
    m: list('Terna Terhemba Tersoo Iorfa Adakole Ejembi Ndagi Davou Gyang Onuche'),
    f: list('Dooshima Nguvan Mnena Erdoo Mimidoo Ene Onyemowo Kaneng Chundung Ladi'),
    surnames: list('Ameh Ogbole Adah Achimugu Pam Dung Tsado Gana Iorliam Uloko'),
  },
} as const satisfies Record<string, Tradition>

const traditions: readonly Tradition[] = Object.values(TRADITIONS)

export const pickSurname = (seed: Seed) => seed.pick(seed.pick(traditions).surnames)

/** A first name from another tradition than the surname: the pair is pronounceable, and visibly made up. */
export function pickFirstName(seed: Seed, gender: Gender, surname: string, taken = ''): string {
  const names = seed.pick(othersOf.get(surname) ?? traditions)[gender]
  return seed.pick(names.includes(taken) ? names.filter((name) => name !== taken) : names)
}

/** The traditions that a surname does not come from. */
const othersOf = new Map(
  traditions
    .flatMap(({ surnames }) => surnames)
    .map((surname) => [surname, traditions.filter(({ surnames }) => !surnames.includes(surname))]),
)

export type MaritalStatus = 'Single' | 'Married' | 'Divorced' | 'Widowed'

const YOUNG: readonly MaritalStatus[] = ['Single', 'Single', 'Married']
const GROWN: readonly MaritalStatus[] = ['Single', 'Married', 'Married', 'Married', 'Divorced', 'Widowed']

export const pickMaritalStatus = (seed: Seed, birthDate: Date) =>
  seed.pick(birthDate.getUTCFullYear() > 1990 ? YOUNG : GROWN)

const WOMENS_TITLES: Record<MaritalStatus, string> = {
  Single: 'Miss',
  Married: 'Mrs',
  Divorced: 'Ms',
  Widowed: 'Mrs',
}

export const toTitle = (gender: Gender, status: MaritalStatus) =>
  gender === 'm' ? 'Mr' : WOMENS_TITLES[status]
