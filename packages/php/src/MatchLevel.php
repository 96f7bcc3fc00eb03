<?php

declare(strict_types=1);

namespace Tabbat;

enum MatchLevel: string
{
    case Exact = 'exact';
    case Partial = 'partial';
    case No = 'no';
}
