import Crypto
import Formats
package import FoundationEssentials

/// A request to send, in any of the forms that SDKs write.
///
/// Source: protocol §5.1–§5.5.
package struct SendRequest: Sendable, Equatable {
    /// The address that a request was sent to.
    package enum Kind: Sendable, Equatable {
        case messages
        /// `/messages/$batch`.
        case batch
        case scheduledNotifications

        /// The largest body, in bytes.
        package var maximumBytes: Int { self == .batch ? BatchBody.maximumBytes : Message.maximumBytes }
    }

    /// Maximum length of an idempotency key in characters.
    package static let maximumKeyLength = 256

    package let message: Message
    /// `nil` to send at once.
    package let schedule: ScheduleTime?
    /// True for a test send, which goes to a few targets and reports their outcomes in its reply.
    package let isTest: Bool
    package let idempotencyKey: String?
    /// The hash that a repeat under the same key must have.
    package let contentHash: [UInt8]

    /// Reads a request; `query` has no question mark, and `now` resolves headers whose time of day is ambiguous.
    ///
    /// - Throws: ``ProtocolError`` 400 or 413.
    package init(
        _ kind: Kind,
        headers: [(name: String, value: String)],
        query: String,
        body: [UInt8],
        now: Date,
        expressionLimits: TagExpression.Limits = .standard
    ) throws(ProtocolError) {
        let fields = try Fields(headers)
        let flags = Flags(query)
        let format = try Self.format(fields[HeaderName.format])
        schedule = try Self.schedule(kind, fields[HeaderName.scheduleTime])
        idempotencyKey = try Self.key(fields[HeaderName.idempotencyKey])
        // The Python sample schedules with `test`, and expects the reply of a request without it.
        isTest = flags.contains("test") && schedule == nil
        guard body.count <= kind.maximumBytes else {
            throw .tooLarge("The request body is larger than \(kind.maximumBytes) bytes.")
        }
        var (content, type) = (body, MediaType(fields["Content-Type"] ?? ""))
        let audience: MessageAudience
        if kind == .batch {
            let batch = try BatchBody(body, type: type)
            (content, type) = (batch.notification, batch.notificationType)
            audience = .handles(batch.handles)
        } else {
            audience = try Self.audience(fields, format, isDirect: flags.contains("direct"), expressionLimits)
        }
        try Self.checkDirect(audience, format, fields)
        var forwarded = try ForwardedHeaders(of: headers, format: format, now: now)
        content =
            format == .template
            ? try BodyText.utf8(content, charset: type.charset, called: "The message")
            : try NativeBody.read(content, type: type, format: format, headers: &forwarded)
        do throws(ProtocolError) {
            message = try Message(format: format, audience: audience, headers: forwarded, body: content)
        } catch {
            guard fields[HeaderName.format]?.isEmpty ?? true else { throw error }
            // The sender of a native notification would not understand what its body has to do with templates.
            throw ProtocolError(
                status: error.status,
                code: error.code,
                detail: "\(HeaderName.format) is missing, and the body is not a template message: \(error.detail)"
            )
        }
        // An ambiguous time of day must not make a repeat differ.
        let hashed =
            forwarded.isEmpty ? forwarded : try ForwardedHeaders(of: headers, format: format, now: .distantPast)
        contentHash = Self.hash(message, headers: hashed, schedule: schedule, isTest: isTest)
    }

    private static func schedule(_ kind: Kind, _ header: String?) throws(ProtocolError) -> ScheduleTime? {
        if kind == .scheduledNotifications { return try ScheduleTime(parsing: header) }
        guard header?.isEmpty ?? true else {
            throw .badRequest(
                "\(HeaderName.scheduleTime) is for POST to /schedulednotifications; here the message would be sent at once."
            )
        }
        return nil
    }

    private static func format(_ header: String?) throws(ProtocolError) -> MessageFormat {
        guard let header, !header.isEmpty else { return .template }
        let format = MessageFormat(rawValue: String(header.trimmed))
        guard let known = MessageFormat.known.first(where: { $0 == format }) else {
            let names = MessageFormat.known.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("The format '\(header.excerpt)' in \(HeaderName.format) is not one of \(names).")
        }
        return known
    }

    private static func key(_ header: String?) throws(ProtocolError) -> String? {
        guard let header else { return nil }
        guard !header.isEmpty, header.unicodeScalars.count <= maximumKeyLength else {
            throw .badRequest("The \(HeaderName.idempotencyKey) must have 1 to \(maximumKeyLength) characters.")
        }
        return header
    }

    /// One Ruby library loses the query, so a handle alone makes a direct send.
    private static func audience(
        _ fields: Fields,
        _ format: MessageFormat,
        isDirect: Bool,
        _ limits: TagExpression.Limits
    ) throws(ProtocolError) -> MessageAudience {
        if let handle = fields[HeaderName.deviceHandle] {
            return .handles([try DirectHandle.read(handle, format: format) { fields[$0] }])
        }
        guard !isDirect else {
            throw .badRequest(
                "The request says 'direct' and names no handle in \(HeaderName.deviceHandle); for many handles POST to /messages/$batch."
            )
        }
        guard let tags = fields[HeaderName.tags], !tags.allSatisfy(\.isWhitespace) else { return .everybody }
        do {
            return .matching(try TagExpression(parsing: tags, limits: limits))
        } catch {
            throw error.protocolError
        }
    }

    private static func checkDirect(
        _ audience: MessageAudience,
        _ format: MessageFormat,
        _ fields: Fields
    ) throws(ProtocolError) {
        guard audience.handles != nil else { return }
        guard format != .template else {
            throw .badRequest(
                "A direct send needs a native format in \(HeaderName.format): a handle has no template; to render one's own, send to the tag '$InstallationId:{…}'."
            )
        }
        if let tags = fields[HeaderName.tags], !tags.allSatisfy(\.isWhitespace) {
            throw .badRequest(
                "A direct send goes to its handles alone: omit \(HeaderName.tags), or send without handles."
            )
        }
    }

    /// Each part is preceded by its length.
    ///
    /// Parts that most requests lack are left out when empty, so that hashes of earlier versions still match.
    private static func hash(
        _ message: Message,
        headers: ForwardedHeaders,
        schedule: ScheduleTime?,
        isTest: Bool
    ) -> [UInt8] {
        var parts = [
            Array((message.audience.expression?.text ?? "").utf8), Array(message.format.rawValue.utf8), message.body,
        ]
        if !headers.isEmpty { parts.append(Array("headers \(JSONText(sorted: headers.values))".utf8)) }
        if let handles = message.audience.handles {
            parts.append(Array("handles \(JSONText(array: handles.map(\.json)))".utf8))
        }
        if let schedule { parts.append(Array("at \(schedule.date.timeIntervalSince1970)".utf8)) }
        if isTest { parts.append(Array("test".utf8)) }
        var hash = SHA256()
        for part in parts {
            withUnsafeBytes(of: UInt64(part.count).littleEndian) { hash.update(bufferPointer: $0) }
            hash.update(data: part)
        }
        return Array(hash.finalize())
    }
}

/// Headers by name in any case; the first of two with the same name.
private struct Fields {
    private let values: [String: String]

    /// Fields that decide who gets what and when: of two lines, one would be ignored.
    private static let single = [
        HeaderName.tags, HeaderName.format, HeaderName.deviceHandle, HeaderName.scheduleTime, HeaderName.idempotencyKey,
    ]

    /// - Throws: ``ProtocolError`` 400 for a second line of a field that decides who gets what and when.
    init(_ headers: [(name: String, value: String)]) throws(ProtocolError) {
        values = Dictionary(headers.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        for name in Self.single where headers.count(where: { $0.name.lowercased() == name.lowercased() }) > 1 {
            throw .badRequest("The request has more than one \(name).")
        }
    }

    subscript(name: String) -> String? { values[name.lowercased()] }
}

/// Words of a query that are there or not, however they are spelled: `test`, `test=`, `test=true`.
private struct Flags {
    private let names: Set<String>

    init(_ query: String) {
        names = Set(
            query.split(separator: "&").compactMap { item in
                let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                let isOff = parts.count == 2 && ["false", "0"].contains(parts[1].lowercased())
                return isOff ? nil : PercentEncoding.decode(parts[0])?.lowercased()
            }
        )
    }

    func contains(_ name: String) -> Bool { names.contains(name) }
}
