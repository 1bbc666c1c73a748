import HubProtocol
import HubRouting
import NIOCore

/// The times from the acceptance of messages to the writes to streams that were open then.
extension StreamLoop {
    /// Measures a message that is about to be rendered.
    func beginMeasuring(_ message: RoutedMessage) {
        // The clock may have been set back since.
        let age = message.acceptedAt.map { max(.zero, host.now() - $0) } ?? .zero
        let givenUp = unwritten.begin(message.sequence, age: age, at: eventLoop.now)
        if let (sequence, times) = givenUp { host.noteWritten(sequence, times) }
    }

    func endRendering(_ sequence: LogSequence) {
        if let times = unwritten.end(sequence) { host.noteWritten(sequence, times) }
    }

    /// Notes that a message is for streams of a cohort.
    func expect(_ sequence: LogSequence, at cohort: CohortLog) {
        guard cohort.unwritten.last != sequence, unwritten.expect(sequence) else { return }
        cohort.expect(sequence)
    }

    func noteWrite(to cohort: CohortLog) {
        let now = eventLoop.now
        let fresh = cohort.wrote(at: now)
        if !fresh.isEmpty { unwritten.note(fresh, at: now) }
    }

    /// Removes the entries of a cohort that all of its streams have, and ends the measurement of their messages.
    func tidy(_ cohort: CohortLog) {
        cohorts.trim(cohort)
        for sequence in cohort.takeWritten() {
            if let times = unwritten.end(sequence, lastWrite: cohort.lastWrite) { host.noteWritten(sequence, times) }
        }
    }
}
