import Synchronization

/// A growing list whose length tests can wait for instead of sleeping.
package final class Counter<Element: Sendable>: Sendable {
    private struct State {
        var elements: [Element] = []
        var waiters: [(count: Int, continuation: CheckedContinuation<[Element], Never>)] = []
    }

    private let state = Mutex(State())

    package init() {}

    package var elements: [Element] { state.withLock { $0.elements } }

    package func append(_ element: Element) {
        let ready = state.withLock { state in
            state.elements.append(element)
            let count = state.elements.count
            let ready = state.waiters.filter { $0.count <= count }
            state.waiters.removeAll { $0.count <= count }
            return ready.map { ($0.continuation, state.elements) }
        }
        for (continuation, elements) in ready { continuation.resume(returning: elements) }
    }

    package func elements(atLeast count: Int) async -> [Element] {
        await withCheckedContinuation { continuation in
            let ready = state.withLock { state -> [Element]? in
                if state.elements.count >= count { return state.elements }
                state.waiters.append((count, continuation))
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }
}
