import ArgumentParser
import Settings

/// Reads times on the command line that belong to no setting, written as in the configuration.
enum TimeArgument {
    /// Returns a reader of times within a range, or of any time but zero; `examples` are part of its error.
    static func reader(
        _ examples: String,
        in range: ClosedRange<Duration>? = nil
    ) -> @Sendable (String) throws -> Duration {
        { text in
            guard let time = SettingUnits.time(text), range?.contains(time) ?? (time > .zero) else {
                throw ValidationError("'\(text)' is not a time, such as \(examples)")
            }
            return time
        }
    }
}
