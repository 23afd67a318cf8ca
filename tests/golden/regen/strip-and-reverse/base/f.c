int f(int a)
{
	int x = a;
	int y =  x + 1;
    use(x, y);
    return y;
}
