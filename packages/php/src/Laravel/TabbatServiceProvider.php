<?php

declare(strict_types=1);

namespace Tabbat\Laravel;

use Illuminate\Contracts\Container\Container;
use Illuminate\Support\ServiceProvider;
use Tabbat\Http\HttpClient;
use Tabbat\Tabbat;
use Tabbat\TabbatException;

/** Gives Laravel a Tabbat, made from config/tabbat.php. An HttpClient in the container replaces cURL. */
final class TabbatServiceProvider extends ServiceProvider
{
    private const CONFIG = __DIR__ . '/../../config/tabbat.php';

    public function register(): void
    {
        $this->mergeConfigFrom(self::CONFIG, 'tabbat');
        $this->app->singleton(Tabbat::class, static function (Container $app): Tabbat {
            $config = $app->make('config')->get('tabbat');
            if (($config['base_url'] ?? '') === '' || ($config['key'] ?? '') === '') {
                throw TabbatException::invalidArgument('Tabbat is not configured. Set TABBAT_URL and TABBAT_KEY.');
            }
            return new Tabbat(
                key: $config['key'],
                baseUrl: $config['base_url'],
                timeoutS: (float) $config['timeout_s'],
                attemptTimeoutS: (float) $config['attempt_timeout_s'],
                maxRetries: (int) $config['max_retries'],
                http: $app->bound(HttpClient::class) ? $app->make(HttpClient::class) : null,
            );
        });
    }

    public function boot(): void
    {
        $this->publishes([self::CONFIG => $this->app->configPath('tabbat.php')], 'tabbat-config');
    }
}
