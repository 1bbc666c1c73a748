import HubProtocol

/// The time for which a subject has been in its current state.
struct AlarmWatch: Sendable, Equatable {
    /// A value that changes with the subject's activity: a position in the log, or a time.
    var mark: Int64?
    var quiet = Duration.zero
    /// The longest time between two marks.
    var longest = Duration.zero
    var watched = Duration.zero
    /// True if a change of the mark was seen since the last start.
    var isFresh = false

    init(mark: Int64? = nil) { self.mark = mark }

    mutating func note(_ mark: Int64?, _ step: Duration) {
        watched += step
        quiet += step
        guard mark != self.mark else { return }
        // The first mark does not end a silence.
        if self.mark != nil {
            longest = max(longest, quiet)
            isFresh = true
        }
        self.mark = mark
        quiet = .zero
    }
}

extension AlarmWatch: Codable {
    /// Decodes an array, to save space, since a hub may store ten thousand watches in one text; times are in
    /// milliseconds.
    init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        mark = try values.decodeNil() ? nil : values.decode(Int64.self)
        quiet = .milliseconds(try values.decode(Int64.self))
        longest = .milliseconds(try values.decode(Int64.self))
        watched = .milliseconds(try values.decode(Int64.self))
        isFresh = try values.decode(Bool.self)
    }

    func encode(to encoder: any Encoder) throws {
        var values = encoder.unkeyedContainer()
        if let mark { try values.encode(mark) } else { try values.encodeNil() }
        for time in [quiet, longest, watched] { try values.encode(time.milliseconds) }
        try values.encode(isFresh)
    }
}
