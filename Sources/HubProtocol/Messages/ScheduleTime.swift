package import FoundationEssentials

/// The time at which a scheduled message is sent: the value of `ServiceBusNotification-ScheduleTime`.
///
/// Source: protocol §5.5.
package struct ScheduleTime: Sendable, Equatable {
    /// Maximum time ahead for a scheduled message, in seconds.
    package static let maximumAhead = 7.0 * 86_400
    /// Difference between the clocks of a client and a hub that a time may be off by, in seconds.
    ///
    /// A client schedules a message some seconds ahead of its own clock. A message whose time has passed by no more than
    /// this is sent at once.
    package static let clockTolerance = 10.0

    package let date: Date

    /// Reads the clients' spellings: ISO 8601, and one with quotes around the `T`.
    ///
    /// The time may have passed, because a repeat of a request may arrive after it; ``check(now:)`` refuses such a
    /// time.
    ///
    /// - Throws: ``ProtocolError`` 400 with the expected form.
    package init(parsing header: String?) throws(ProtocolError) {
        guard let header, !header.trimmed.isEmpty else {
            throw .badRequest("The header \(HeaderName.scheduleTime) is missing: \(Self.wanted).")
        }
        guard let date = ISODateTime.parse(String(header.trimmed)) else {
            throw .badRequest("The \(HeaderName.scheduleTime) '\(header.excerpt)' is not a valid time: \(Self.wanted).")
        }
        self.date = date
    }

    package init(_ date: Date) { self.date = date }

    /// - Throws: ``ProtocolError`` 400 for a time that has passed, or is too far ahead, by more than
    ///   ``clockTolerance``.
    package func check(now: Date) throws(ProtocolError) {
        let shown = "'\(ISODateTime.format(date))' in \(HeaderName.scheduleTime)"
        let clock = "this hub's clock says \(ISODateTime.format(Date(timeIntervalSince1970: now.seconds)))"
        guard date.timeIntervalSince(now) > -Self.clockTolerance else {
            throw .badRequest(
                "The time \(shown) has passed (\(clock)): \(Self.wanted); to send at once, POST to /messages."
            )
        }
        guard date.timeIntervalSince(now) <= Self.maximumAhead + Self.clockTolerance else {
            throw .badRequest(
                "The time \(shown) is more than \(Int(Self.maximumAhead / 86_400)) days ahead (\(clock)); schedule it later."
            )
        }
    }

    private static let wanted = "send the time in UTC, such as 2030-01-02T03:04:05Z"
}

extension Date {
    /// Whole seconds since 1970.
    fileprivate var seconds: Double { timeIntervalSince1970.rounded(.down) }
}
