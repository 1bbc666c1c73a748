import Formats
import HubProtocol
import OutboundHTTP

/// An OAuth 2.0 access token (RFC 6749), fetched when it is needed and once for all callers.
actor AccessTokens {
    private struct Token {
        let text: String
        let expiresAt: Timestamp
        /// From this time a new token is fetched, while this one is still used.
        let freshUntil: Timestamp
    }

    /// Seconds before its expiry at which a token is replaced; a tenth of a short lifetime.
    private static let margin: Int64 = 300
    /// Seconds that a token is valid if the service does not say.
    private static let assumedLifetime: Int64 = 3_600

    private let channel: ServiceChannel
    private let url: String
    private let now: @Sendable () -> Timestamp
    /// Makes the form that asks for a token.
    private let form: @Sendable (Timestamp) throws -> [(name: String, value: String)]
    private var token: Token?
    private var fetching: Task<Result<Token, ServiceChannel.NoAnswer>, Never>?
    /// Outcome of the last fetch if it failed, and the time until which there is no other.
    private var failure: (outcome: PushOutcome, until: Timestamp)?
    private var failures = 0

    init(
        _ channel: ServiceChannel,
        url: String,
        now: @escaping @Sendable () -> Timestamp,
        form: @escaping @Sendable (Timestamp) throws -> [(name: String, value: String)]
    ) {
        self.channel = channel
        self.url = url
        self.now = now
        self.form = form
    }

    /// The action that an answer to a request with a token calls for.
    enum Verdict: Sendable, Equatable {
        case outcome(PushOutcome)
        /// The access token is no longer valid.
        case staleToken(String)
    }

    /// Makes an attempt, and a second one with a new token if the service calls the first one invalid.
    nonisolated func attempt(
        _ send: (_ token: String) async throws(ServiceChannel.NoAnswer) -> Verdict
    ) async -> PushOutcome {
        do throws(ServiceChannel.NoAnswer) {
            let token = try await self.token()
            var verdict = try await send(token)
            if case .staleToken = verdict { verdict = try await send(try await self.token(after: token)) }
            switch verdict {
            case .outcome(let outcome): return outcome
            case .staleToken(let reason): return .refusedCredential("a new access token is refused: \(reason)")
            }
        } catch {
            return error.outcome
        }
    }

    /// Returns a token, a different one if the service has refused `refused`.
    ///
    /// - Throws: The outcome of a message that cannot be sent without a token.
    func token(after refused: String? = nil) async throws(ServiceChannel.NoAnswer) -> String {
        if let refused, token?.text == refused { token = nil }
        let time = now()
        if let token, token.freshUntil > time { return token.text }
        // The time of a failure is useless after the clock was set back.
        if let failure, failure.until > time, failure.until <= time + .seconds(60), refused == nil || token == nil {
            if let token, token.expiresAt > time { return token.text }
            throw ServiceChannel.NoAnswer(outcome: failure.outcome)
        }
        let task = fetching ?? Task { await self.fetch() }
        fetching = task
        if let token, token.expiresAt > time { return token.text }
        return try await task.value.get().text
    }

    private func fetch() async -> Result<Token, ServiceChannel.NoAnswer> {
        defer { fetching = nil }
        do {
            let form = try form(now()).map { "\(PercentEncoding.encode($0.name))=\(PercentEncoding.encode($0.value))" }
            let response = try await channel.post(
                url,
                [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "application/json")],
                Array(form.joined(separator: "&").utf8)
            )
            return take(response)
        } catch let error as ServiceChannel.NoAnswer {
            return fail(error.outcome)
        } catch {
            return fail(.refusedCredential("cannot sign with its key: \(error)"))
        }
    }

    private func take(_ response: OutboundResponse) -> Result<Token, ServiceChannel.NoAnswer> {
        let answer = try? JSONReader.read(response.body, allowsRepeats: true)
        if response.status == 200, let text = answer?["access_token"]?.string, !text.isEmpty {
            let lifetime = answer?["expires_in"].flatMap { $0.integer ?? $0.string.flatMap { Int64($0) } }
            let seconds = min(max(lifetime ?? Self.assumedLifetime, 1), 86_400)
            let new = Token(
                text: text,
                expiresAt: now() + .seconds(seconds),
                freshUntil: now() + .seconds(seconds - min(Self.margin, seconds / 10))
            )
            token = new
            (failure, failures) = (nil, 0)
            return .success(new)
        }
        let error = answer?["error"]?.string ?? "\(response.status)"
        let detail = answer?["error_description"]?.string.map { ": \($0.prefix(200))" } ?? ""
        let reason = "no access token: \(error.prefix(100))\(detail)\(clockHint(response))".withoutControls
        switch response.status {
        case 400, 401, 403, 404: return fail(.refusedCredential(reason))
        case 429: return fail(.throttled(.credential, after: channel.retryAfter(response), reason))
        default: return fail(.retry(after: channel.retryAfter(response), reason))
        }
    }

    private func fail(_ outcome: PushOutcome) -> Result<Token, ServiceChannel.NoAnswer> {
        failures += 1
        failure = (outcome, now() + .seconds(min(60, 1 << min(failures - 1, 6))))
        return .failure(ServiceChannel.NoAnswer(outcome: outcome))
    }

    /// A wrong clock makes signed requests look expired, and the service's answer may not say so.
    private func clockHint(_ response: OutboundResponse) -> String {
        response.clockDifference(now()).map { " (\($0))" } ?? ""
    }
}

extension OutboundResponse {
    /// Describes a difference of more than five minutes between this machine's clock and the service's; `nil` if there
    /// is none.
    func clockDifference(_ now: Timestamp) -> String? {
        guard let date = headers.first("Date").flatMap(HTTPDate.seconds) else { return nil }
        let difference = now.seconds - date
        guard abs(difference) > 300 else { return nil }
        let direction = difference > 0 ? "ahead of" : "behind"
        return "this machine's clock is \(abs(difference) / 60) minutes \(direction) the service's"
    }
}

extension String {
    /// The text without control characters, for logs and lists: a service's text may contain anything.
    var withoutControls: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}
