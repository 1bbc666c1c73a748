import Logging

extension Logger {
    /// A logger for libraries, whose own start and stop notices would repeat ours.
    var quieter: Logger {
        var logger = self
        logger.logLevel = max(logLevel, .warning)
        return logger
    }
}
