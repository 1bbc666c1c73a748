/// Ends the program with what is wrong, also in an optimized build, in which `precondition` says nothing.
package func check(_ isRight: Bool, _ message: @autoclosure () -> String) {
    guard !isRight else { return }
    fatalError(message())
}
