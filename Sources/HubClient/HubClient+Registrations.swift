package import HubProtocol
import OutboundHTTP

extension HubClient {
    /// The number of registrations of a page; the service returns no more (protocol §3.4).
    private static let pageSize = 100
    /// The largest page in bytes: registrations of 64 KiB each, with every character as a reference of five bytes.
    private static let maximumPageBytes = 40 << 20
    /// The largest number of consecutive pages without a registration.
    private static let maximumEmptyPages = 100

    package func registration(_ id: RegistrationID) async throws(HubError) -> Registration {
        let reply = try await succeed(HubCall("GET", "/registrations/\(HubCall.segment(id.text))"))
        let answer = try answer(in: reply)
        guard let registration = answer.registrations.first else {
            throw Self.unreadable(answer.problems.first ?? "it is an empty list")
        }
        return registration
    }

    /// Reads up to `limit` registrations in pages, some of which may be empty: a hub may have a million registrations.
    ///
    /// - Throws: Refusals, ``HubError/malformedReply(_:)`` for a reply that is not a list and for a list that
    ///   does not end, and the errors of `visit`.
    package func forEachPage(
        of choice: RegistrationChoice,
        limit: Int = .max,
        _ visit: (RegistrationAnswer) throws -> Void
    ) async throws {
        var (start, seen): (String?, Set<String>) = (nil, [])
        var (left, emptyPages) = (limit, 0)
        repeat {
            let page = try await page(of: choice, from: start, count: min(left, Self.pageSize))
            try visit(page.answer)
            let count = page.answer.registrations.count + page.answer.problems.count
            left -= count
            emptyPages = count == 0 ? emptyPages + 1 : 0
            start = page.next
            let isNew = start.map { seen.insert($0).inserted } ?? true
            guard isNew, emptyPages <= Self.maximumEmptyPages else {
                throw HubError.malformedReply("the list of registrations does not end")
            }
        } while start != nil && left > 0
    }

    package func page(
        of choice: RegistrationChoice,
        from start: String?,
        count: Int
    ) async throws(HubError) -> (answer: RegistrationAnswer, next: String?) {
        var call: HubCall
        switch choice {
        case .all, .handle: call = HubCall("GET", "/registrations")
        case .tag(let tag): call = HubCall("GET", "/tags/\(HubCall.segment(tag.text))/registrations")
        }
        if case .handle(let handle) = choice {
            call.query.append(("$filter", RegistrationChoice.filter(handle)))
        }
        call.query.append(("$top", "\(count)"))
        call.continuation = start
        call.maximumReplyBytes = Self.maximumPageBytes
        let reply = try await succeed(call)
        let next = reply.headers[HeaderName.continuationToken].flatMap { $0.isEmpty ? nil : $0 }
        guard next?.utf8.allSatisfy(Self.isOfToken) != false else {
            throw .malformedReply("the continuation token of its list cannot be sent back")
        }
        return (try answer(in: reply), next)
    }

    private func answer(in reply: OutboundResponse) throws(HubError) -> RegistrationAnswer {
        do {
            return try RegistrationAnswer(reply.body)
        } catch {
            throw Self.unreadable(error.detail)
        }
    }

    private static func unreadable(_ reason: String) -> HubError {
        .malformedReply("its registrations cannot be read: \(reason)")
    }

    /// True if a byte needs no escape in a query: a token is sent there as it was received (protocol §3.4).
    private static func isOfToken(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !#"&#"<>\"#.utf8.contains(byte)
    }
}
