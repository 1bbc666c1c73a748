import HubProtocol
import OutboundHTTP

/// An access token of OAuth 2.0 (RFC 6749), fetched when it is needed, by one caller for all.
actor AccessTokens {
    private struct Token {
        let text: String
        let expiresAt: Timestamp
        /// A new one is fetched from then on, while this one is still used.
        let freshUntil: Timestamp
    }

    /// Before a token expires, a new one is fetched; for one of a short life, a tenth of it.
    private static let margin: Int64 = 300
    /// Where the service does not say how long a token is good.
    private static let assumedLifetime: Int64 = 3_600

    private let channel: ServiceChannel
    private let url: String
    private let now: @Sendable () -> Timestamp
    /// The form that asks for a token, made anew each time.
    private let form: @Sendable (Timestamp) throws -> [(name: String, value: String)]
    private var token: Token?
    private var fetching: Task<Result<Token, ServiceChannel.NoAnswer>, Never>?
    /// What became of the last fetch, and how long nobody asks again.
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

    /// Returns a token; a service that has refused one is given another.
    ///
    /// - Throws: The outcome of a message that cannot be sent for want of a token.
    func token(after refused: String? = nil) async throws(ServiceChannel.NoAnswer) -> String {
        if let refused, token?.text == refused { token = nil }
        let time = now()
        if let token, token.freshUntil > time { return token.text }
        // Of a clock that was set back the time is of no use.
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
            return fail(.refusedCredential("nothing can be signed with its key: \(error)"))
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

    /// A clock that is wrong makes signed requests look expired, which the service does not say so plainly.
    private func clockHint(_ response: OutboundResponse) -> String {
        response.clockDifference(now()).map { " (\($0))" } ?? ""
    }
}

extension OutboundResponse {
    /// Says that this machine's clock and the service's differ by more than five minutes; `nil` if they do not.
    func clockDifference(_ now: Timestamp) -> String? {
        guard let date = headers.first("Date").flatMap(HTTPDate.seconds) else { return nil }
        let difference = now.seconds - date
        guard abs(difference) > 300 else { return nil }
        let direction = difference > 0 ? "ahead of" : "behind"
        return "this machine's clock is \(abs(difference) / 60) minutes \(direction) the service's"
    }
}

extension String {
    /// For a line of a log or a list: what a service wrote may contain anything.
    var withoutControls: String {
        String(String.UnicodeScalarView(unicodeScalars.map { $0.properties.generalCategory == .control ? " " : $0 }))
    }
}
