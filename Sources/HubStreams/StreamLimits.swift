/// Limits of the messages that wait in memory for slow streams, on each event loop; the rest is read from the store.
package struct StreamLimits: Sendable {
    /// Maximum number of bytes in the log of one cohort.
    package var cohortBytes = 1 << 20
    /// Maximum number of bytes in the logs of all cohorts together, and maximum cost of rendering one message for
    /// recipients that are not heavy.
    package var totalBytes = 64 << 20
    /// Maximum number of bytes of messages for one stream alone.
    package var personalBytes = 64 << 10
    /// Maximum number of messages that wait to be rendered.
    package var waitingMessages = 4_096
    /// Maximum number of bytes of these messages.
    package var waitingBytes = 16 << 20
    /// Maximum cost of rendering one message for heavy recipients, in bytes.
    package var heavyBytes = 4 << 20

    package init() {}
}
