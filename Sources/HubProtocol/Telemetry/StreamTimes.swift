/// The times from the acceptance of a message to the first and the last write of it to streams that were open then.
package struct StreamTimes: Sendable, Equatable {
    package let first: Duration
    package let last: Duration

    package init(first: Duration, last: Duration) { (self.first, self.last) = (first, last) }
}
