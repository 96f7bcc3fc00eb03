<?php

declare(strict_types=1);

namespace Tabbat\Http;

use Tabbat\Hidden;

final class Response
{
    private readonly Hidden $pieces;

    /**
     * @param array<string, string> $headers Names in lower case.
     * @param iterable<string> $pieces The body. It throws a TabbatException if the connection breaks.
     */
    public function __construct(public readonly int $status, public readonly array $headers, #[\SensitiveParameter] iterable $pieces)
    {
        $this->pieces = new Hidden($pieces);
    }

    /** @return iterable<string> */
    public function pieces(): iterable
    {
        return $this->pieces->get();
    }
}
