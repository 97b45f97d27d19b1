import Glibc
package import Testing

extension Trait where Self == ConditionTrait {
    /// For tests that wait for real timeouts or try thousands of cases: only `deploy/test --all` runs them.
    package static var thorough: ConditionTrait {
        .enabled(if: getenv("ALL_TESTS") != nil, "deploy/test --all runs it")
    }
}
