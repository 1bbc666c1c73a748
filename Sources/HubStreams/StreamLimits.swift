/// Limits of what waits in memory for slow streams, on each event loop; the rest is read from the store.
package struct StreamLimits: Sendable {
    /// Bytes of one cohort.
    package var cohortBytes = 1 << 20
    /// Bytes of all cohorts together; one message may render as much.
    package var totalBytes = 64 << 20
    /// Bytes of messages for one stream alone.
    package var personalBytes = 64 << 10
    /// Messages that wait to be rendered.
    package var waitingMessages = 4_096
    /// Bytes that those hold.
    package var waitingBytes = 16 << 20
    /// Bytes that rendering one message for heavy recipients may cost.
    package var heavyBytes = 4 << 20

    package init() {}
}
