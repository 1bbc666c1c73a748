import Logging

extension Logger {
    /// For libraries, whose notices of their own start and stop repeat ours.
    var quieter: Logger {
        var logger = self
        logger.logLevel = max(logLevel, .warning)
        return logger
    }
}
