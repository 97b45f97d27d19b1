import Glibc
package import Testing

extension Trait where Self == ConditionTrait {
    /// Of tests that wait for real time-outs, or try thousands of cases: `deploy/test --all` runs them too.
    package static var thorough: ConditionTrait {
        .enabled(if: getenv("ALL_TESTS") != nil, "deploy/test --all runs it")
    }
}
