import Glibc
package import Testing

extension Trait where Self == ConditionTrait {
    /// For tests that wait for real timeouts or try thousands of cases: only `deploy/test --all` runs them.
    package static var thorough: ConditionTrait {
        .enabled(if: getenv("ALL_TESTS") != nil, "deploy/test --all runs it")
    }

    /// For searches for rare cases: a sanitizer would make them several times as long.
    package static var search: ConditionTrait {
        .enabled(
            if: getenv("ALL_TESTS").map { String(cString: $0) } == "1",
            "deploy/test --all runs it, without a sanitizer")
    }
}
