import HubProtocol

/// How long something has been as it is.
struct AlarmWatch: Sendable, Equatable {
    /// What changes when it does something: a place in the log, or a time.
    var mark: Int64?
    var quiet = Duration.zero
    /// The longest time between two marks.
    var longest = Duration.zero
    var watched = Duration.zero
    /// A mark was seen to change since the last start.
    var isFresh = false

    init(mark: Int64? = nil) { self.mark = mark }

    mutating func note(_ mark: Int64?, _ step: Duration) {
        watched += step
        quiet += step
        guard mark != self.mark else { return }
        // The first mark ends no silence.
        if self.mark != nil {
            longest = max(longest, quiet)
            isFresh = true
        }
        self.mark = mark
        quiet = .zero
    }
}

extension AlarmWatch: Codable {
    /// An array, since a hub may have ten thousand of them in one text; times in milliseconds.
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
