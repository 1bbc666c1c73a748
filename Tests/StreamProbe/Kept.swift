import Synchronization

/// A value that several tasks change.
package final class Kept<Value: Sendable>: Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: Value) { mutex = Mutex(value) }

    package var value: Value { mutex.withLock { $0 } }

    package func change<Output: Sendable>(_ body: (inout Value) -> sending Output) {
        mutex.withLock { _ = body(&$0) }
    }
}
