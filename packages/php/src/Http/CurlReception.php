<?php

declare(strict_types=1);

namespace Tabbat\Http;

use CurlHandle;

/** What has arrived of a response. @internal */
final class CurlReception
{
    public int $status = 0;
    /** @var array<string, string> */
    public array $headers = [];
    public bool $hasHead = false;
    public string $body = '';

    public function onHeader(CurlHandle $handle, string $line): int
    {
        if (preg_match('~^HTTP/\S+ ([0-9]{3})~', $line, $found)) {
            [$this->status, $this->headers] = [(int) $found[1], []];
        } elseif (str_contains($line, ':')) {
            [$name, $value] = explode(':', $line, 2);
            $this->headers[strtolower(trim($name))] = trim($value);
        } elseif (trim($line) === '' && $this->status >= 200) {
            $this->hasHead = true;
        }
        return strlen($line);
    }

    public function onBody(CurlHandle $handle, string $piece): int
    {
        $this->body .= $piece;
        return strlen($piece);
    }

    public function take(): string
    {
        [$taken, $this->body] = [$this->body, ''];
        return $taken;
    }
}
