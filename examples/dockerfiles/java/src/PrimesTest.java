import java.util.Arrays;

final class PrimesTest {
	public static void main(String[] arguments) {
		assert Arrays.equals(Primes.below(12).toArray(), new int[] {2, 3, 5, 7, 11});
		assert Primes.below(2).count() == 0;
		assert Primes.below(100000).count() == 9592;
		System.out.println("passed");
	}
}
